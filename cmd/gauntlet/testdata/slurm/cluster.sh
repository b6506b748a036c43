#!/bin/sh
# A Slurm cluster of two nodes in namespaces of its own, for as long as a command runs: unshare … sh cluster.sh DIR COMMAND…
# DIR is for its state. Slurm takes no address of the loopback device, so there is another.
set -eu
dir=$1
shift
hostname gnode
ip link set lo up
ip link add gauntlet0 type veth peer name gauntlet1
ip addr add 10.77.0.1/24 dev gauntlet0
ip link set gauntlet0 up
ip link set gauntlet1 up
printf '127.0.0.1 localhost\n10.77.0.1 gnode\n' >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts

head -c 1024 /dev/urandom >"$dir/munge.key"
chmod 400 "$dir/munge.key"
munged --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --pid-file="$dir/munged.pid" \
  --log-file="$dir/munged.log" --seed-file="$dir/munge.seed" 2>"$dir/munged.err"

mkdir -p "$dir/state"
cat >"$dir/slurm.conf" <<CONF
ClusterName=gauntlet
SlurmctldHost=gnode(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdTimeout=6
SlurmctldTimeout=30
KillWait=2
MinJobAge=600
MpiDefault=none
NodeName=n1 NodeHostname=gnode NodeAddr=10.77.0.1 Port=17001 CPUs=2
NodeName=n2 NodeHostname=gnode NodeAddr=10.77.0.1 Port=17002 CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$dir/slurm.conf"
slurmctld
slurmd -N n1
slurmd -N n2
for try in $(seq 60); do
  [ "$(sinfo -h -o %D -t idle 2>/dev/null)" = 2 ] && break
  sleep 0.5
done
"$@"
