#!/bin/sh
# Runs "gauntlet {{sh .Command}}" in {{.Shards}} tasks of a job array, and merges their results when all have ended.
# Submit it from a folder that all nodes share: sh FILE. More words are options of sbatch, such as --partition=NAME.
# Results and logs go to RESULTS, by default gauntlet-results; what is there is not made again.
set -eu
results=${RESULTS:-$PWD/gauntlet-results}
mkdir -p "$results/logs"
export results

array=$(sbatch --parsable --job-name={{sh .Name}} --array=0-{{.Last}} --requeue --open-mode=append \
  --output="$results/logs/shard-%a.log" "$@" <<'TASK'
#!/bin/sh
# The total is said here, so that tasks can be submitted again one by one: --array=3,7.
export GAUNTLET_SHARD_TOTAL={{.Shards}}
{{sh .Program}} {{sh .Command}} --shard auto --units "$results/units"
code=$?
# 3 is not the fault of what is run: another node may do better.
if [ "$code" -eq 3 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt {{.Retries}} ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && sleep 60
fi
exit "$code"
TASK
)
array=${array%%;*}

# The merge names what is missing, so it runs however the tasks ended.
merge=$(sbatch --parsable --job-name={{sh .Name}}-merge --dependency=afterany:"$array" --open-mode=append \
  --output="$results/logs/merge.log" "$@" <<'TASK'
#!/bin/sh
{{sh .Program}} merge "$results/units"
TASK
)
echo "tasks: job $array; merge: job ${merge%%;*}; results: $results"
