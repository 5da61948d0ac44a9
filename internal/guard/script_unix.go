// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard

// The shell inherits two files beside the standard ones. File 3 is the reading end of the pipe that the owner holds: a line "c"
// asks the watcher to end if nothing of the session is left, "q" to end in any case, "t" to end the session, "k" to kill it. The end of the file
// means "t". File 4 is where the watcher's process id is written; it is closed when the watcher has ended.

// launchScript starts the watcher and becomes the command. $0 is the shell, $1 the watcher's
// script, $2 its patience, and the rest the command.
//
// The signals are ignored before the watcher exists, so none can end it. The shell in parentheses
// exits at once, which leaves the command without a child that it does not know of.
const launchScript = `w=$1 n=$2
shift 2
(trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE TSTP TTIN TTOU
exec </dev/null >/dev/null 2>&1
"$0" -c "$w" ponte-guard $$ $n &
echo $! >&4)
exec "$@" 3<&- 4>&-
`

// watchScript waits for the owner's word or its end, and ends the session $1: SIGTERM, about $2 hundredths of a second,
// SIGKILL. It is POSIX shell, and needs cat, sleep and, where there is no /proc, ps.
//
// Before a signal is sent everything is stopped. Otherwise a process could fork, or leave the session, between the moment
// in which it is found and the one in which it is told. The last step kills the command's group and with it the watcher,
// which the kernel does at once.
const watchScript = `set +eufx
cd /
LC_ALL=C PATH=/usr/bin:/bin:$PATH IFS=' '
s=$1 n=$2 ss=" $1 " known= all=

# table lists the living processes in $t, as pid:parent:group:session. A process that has exited may have threads left.
table() {
	t=
	if [ -r /proc/$$/stat ] && [ ! "$PONTE_GUARD_PS" ]; then
		IFS='
'
		for l in $(cat /proc/[0-9]*/stat); do
			# The name of a process is in parentheses, and may have anything in it: a line of its own too.
			case $l in
			*' ('*) p=${l%% *} ;;
			esac
			r=${l#*') '}
			case $r in
			"$l") continue ;;
			*') '*) r=${l##*') '} ;;
			esac
			case $r in
			[Xx]*) continue ;;
			Z*) IFS=' '; set -- $r; [ "${18}" -gt 1 ] || continue ;;
			esac
			r=${r#* }
			q=${r%% *} r=${r#* }
			g=${r%% *} r=${r#* }
			t="$t $p:$q:$g:${r%% *}"
		done
		IFS=' '
		return
	fi
	l=$(ps -A -o pid= -o ppid= -o pgid= -o stat=)
	while read -r p q g x; do
		case $x in
		''|Z*) ;;
		*) t="$t $p:$q:$g:$g" ;;
		esac
	done <<END
$l
END
}

# scan lists in $all the processes of the session and their descendants, and in $groups the groups they are in. What it
# found before, and the sessions $ss of those, count too: a process may have lost its parent in between.
scan() {
	table
	known=$known$all
	all= groups=' ' seen= more=1
	while [ $more ]; do
		more= rest=
		for e in $t; do
			p=${e%%:*} r=${e#*:}
			q=${r%%:*} r=${r#*:}
			g=${r%%:*} r=${r#*:}
			case $$ in
			$p) seen=1; continue ;;
			$q) continue ;;
			esac
			case "$ss$known$all" in
			*" $r "*|*" .$q "*|*" .$p "*)
				all="$all .$p " more=1
				case $ss in
				*" $r "*) ;;
				*) ss="$ss$r " ;;
				esac
				case $groups in
				*" $g "*) ;;
				*) groups="$groups$g " ;;
				esac ;;
			*) rest="$rest $e" ;;
			esac
		done
		t=$rest
	done
	if [ ! $seen ]; then all=. groups=$s; fi # there is no list of processes
}

# each sends a signal to what was found. Groups take it in one step. The command's group has this shell in it.
each() {
	case $1 in
	STOP|KILL) for g in $groups; do [ $g = $s ] || kill -$1 -$g; done ;;
	esac
	for p in $all; do kill -$1 ${p#.}; done
}

# freeze stops everything, so that nothing new appears and nobody loses a parent. It looks until two scans agree.
freeze() {
	last=-
	for i in 1 2 3 4 5 6 7 8 9 10; do
		scan
		if [ "$all" = "$last" ]; then return; fi
		each STOP
		last=$all
	done
	return 1
}

while IFS= read -r x <&3; do
	case $x in
	c)
		scan
		[ "$all" ] || { sleep 0.02; scan; }
		[ "$all" ] || { sleep 0.02; scan; }
		[ "$all" ] || exit 0 ;;
	q) exit 0 ;;
	t) break ;;
	k) n=0; break ;;
	esac
done
if [ $n -gt 0 ]; then
	freeze
	each TERM
	each CONT
	d=1
	for p in $all; do
		while [ $n -gt 0 ] && kill -0 ${p#.}; do
			case $d in
			?) x=0.0$d ;;
			*) x=0.$d ;;
			esac
			sleep $x || { n=$((n-100)); sleep 1; }
			n=$((n-d))
			[ $d -ge 16 ] || d=$((d*2))
		done
	done
fi
for j in 1 2 3 4 5; do
	freeze
	x=$?
	each KILL
	[ $x = 1 ] || break
done
kill -KILL -$s
`
