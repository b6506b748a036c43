#!/bin/sh
# The program, as a task of the array sees it on a bad day. DIR and SELF are set by the test.
once() { mkdir "$DIR/$1" 2>/dev/null; }
case "${SLURM_ARRAY_TASK_ID:-}" in
2) # its machine is lost
  if once lost; then
    kill -9 "$(cat "$DIR/slurmd-$SLURMD_NODENAME.pid")"
    script=$PPID
    kill -9 "$(awk '{print $4}' "/proc/$script/stat")" "$script" $$
  fi ;;
4) if once interrupted; then exit 3; fi ;;
5) if once failed; then exit 2; fi ;;
esac
exec "$SELF" "$@"
