# What is counted, in the order of the table. $1: the mode; $2: by how much what is
# counted is moved. Lines: R NAME COUNT MIN MEDIAN MAX; E NAME ERROR WHY; # FACT.
export PATH=/usr/bin:/usr/sbin
cd /
[ $1 = e ] && echo -n 1 >/sys/fs/selinux/enforce
case $1 in p | e) echo "# enforcing $(cat /sys/fs/selinux/enforce)" && echo "# domain $(cat /proc/self/attr/current)" ;; esac
dmesg -c >/dev/null
# Some hundred thousand instructions for each of them: another moment between two ticks of the clock.
moved=$(($2 * 100))
part() {
  [ -e /scripts/part-$1 ] || return
  i=0
  while [ $i -lt $moved ]; do i=$((i + 1)); done
}
count() { bakeoff counted "$@"; }
batches=$(cat /scripts/batches)
part calls && bakeoff calls --alone --clock tsc --dir /data --program /bin/true --batches $batches --operations $(cat /scripts/operations)
part cold && count cold $1 /data/cold $batches
if part web; then
  echo go >/run/go
  count web 127.0.0.1:8080
  for pid in /proc/[0-9]*; do
    case $(cat $pid/comm 2>/dev/null) in nginx) echo "# nginx $(cat $pid/attr/current 2>/dev/null)" ;; esac
  done
fi
if part compile; then
  cd /usr/src
  gcc -O1 -c -o empty.o empty.c
  cd small
  count command compile make -s all
fi
case $1 in n | p | e) while read lookups; do echo "# avc $lookups"; done </sys/fs/selinux/avc/cache_stats ;; esac
denied() { dmesg | grep 'avc: .*denied.*:httpd_t:' | grep -c "$1"; }
echo "# logged-secret $(denied 'name="secret"')"
echo "# logged-port $(denied '{ name_connect }')"
dmesg | grep 'avc: .*denied' | while read line; do echo "# denial $line"; done
echo "# end"
