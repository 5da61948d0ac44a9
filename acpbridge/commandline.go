// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// commandLine is what a model wants to run: a program with arguments, possibly a shell with a line.
//
// A line is given to a shell explicitly, though some clients would do so themselves: the protocol has a program and its
// arguments, and clients differ. Some start the program as it stands, others pass everything to the user's shell with
// the arguments quoted. "sh -c LINE" means the same to all of them.
type commandLine struct {
	program string
	args    []string
	// shown is the command for people: as the model wrote it, or quoted for a shell.
	shown string
	// shell says that shown is a line for a shell which does more than to split it.
	shell bool
}

const (
	// posixMeta are the characters that a POSIX shell gives a meaning to anywhere in a word.
	posixMeta = "|&;<>()$`\\\"'*?[]{}~#!\n\r"
	// windowsMeta are those of cmd.exe.
	windowsMeta = "|&<>()^%!\"\n\r"
	// unsafeInArgs are what makes an argument run another command, should a client forget to quote it.
	unsafeInArgs = "|&;<>`\n\r"
)

// parseCommand takes a command as models write it: a line, or a program with arguments.
func parseCommand(windows bool, command string, args []string) (commandLine, error) {
	meta := posixMeta
	if windows {
		meta = windowsMeta
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		return commandLine{}, toolset.Retry("The command is empty.")
	}
	plain := !strings.ContainsAny(command, meta) && !strings.Contains(words[0], "=")
	if len(args) > 0 {
		switch {
		case len(words) == 1, strings.ContainsAny(words[0], `/\`): // a path may have spaces
			return directCommand(strings.TrimSpace(command), args), nil
		case plain:
			return directCommand(words[0], slices.Concat(words[1:], args)), nil
		}
		return commandLine{}, toolset.Retry("Give either a whole command line in command, without args, or a program in command and its arguments in args.")
	}
	line := strings.TrimSpace(command)
	switch {
	case windows: // much of what one types there is built into the shell
		return commandLine{program: "cmd", args: []string{"/C", line}, shown: line, shell: !plain}, nil
	case !plain:
		return commandLine{program: "sh", args: []string{"-c", line}, shown: line, shell: true}, nil
	}
	return directCommand(words[0], words[1:]), nil
}

func directCommand(program string, args []string) commandLine {
	words := append([]string{program}, args...)
	for i, word := range words {
		words[i] = quoteWord(word)
	}
	return commandLine{program: program, args: args, shown: strings.Join(words, " ")}
}

// quoteWord quotes a word for a POSIX shell, for people to read.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, posixMeta+" \t") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// words are what a prefix of the command is made of; nil if there is no prefix that means anything.
func (c *commandLine) words() []string {
	if c.shell {
		return nil
	}
	if c.program == "cmd" {
		return strings.Fields(c.shown)
	}
	if slices.ContainsFunc(c.args, func(a string) bool { return strings.ContainsAny(a, unsafeInArgs) || strings.Contains(a, "$(") }) {
		return nil
	}
	return append([]string{c.program}, c.args...)
}

// commandScope is what "always" covers for a command: its first words if they say what it does, else this very command.
type commandScope struct {
	scope, title string
	// covers holds the scope of this very command, if scope is a prefix.
	covers []string
}

// scopeOf computes the scope of a command with changes to its environment. A prefix never covers those.
func scopeOf(c *commandLine, env map[string]string) commandScope {
	exactly := c.shown
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(env))) {
		exactly = name + "=" + quoteWord(env[name]) + " " + exactly
	}
	exact := "exactly: " + exactly
	if words := c.words(); len(env) == 0 && words != nil {
		if prefix := commandPrefix(words); prefix != "" {
			return commandScope{scope: prefix, title: "`" + prefix + "`", covers: []string{exact}}
		}
	}
	title := "exactly this command"
	if len(exactly) <= 60 && !strings.ContainsAny(exactly, "`\n") {
		title = "exactly `" + exactly + "`"
	}
	return commandScope{scope: exact, title: title}
}

// commandPrefix returns the words that say what a command does: a program that only looks at things, or a program with its
// subcommand. There is none for programs whose arguments decide everything.
func commandPrefix(words []string) string {
	if harmless[words[0]] {
		return words[0]
	}
	if len(words) < 2 || decidedByArgs[programName(words[0])] || !isSubcommand(words[1]) {
		return ""
	}
	return words[0] + " " + words[1]
}

// programName returns the last part of a program's path, without its version.
func programName(program string) string {
	name := strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:])
	return strings.TrimRight(strings.TrimSuffix(name, ".exe"), ".0123456789")
}

// isSubcommand reports whether a word looks like a subcommand and not like an option, a file or a value.
func isSubcommand(word string) bool {
	for i, c := range word {
		if !('a' <= c && c <= 'z') && (i == 0 || !('0' <= c && c <= '9' || c == '-' || c == '_' || c == ':')) {
			return false
		}
	}
	return word != ""
}

// harmless are programs that only look at things, whatever their arguments.
var harmless = wordSet("ls pwd cat head tail wc grep which stat du df whoami uname diff cmp dir")

// decidedByArgs are programs that run other programs, code or scripts, or that do to their arguments what cannot be undone.
var decidedByArgs = wordSet(`sh bash zsh dash ksh fish csh tcsh cmd powershell pwsh eval exec source env xargs nohup time timeout watch
	nice setsid script sudo doas su ssh scp sftp rsync nc socat curl wget python node ruby perl php lua tclsh osascript awk gawk
	sed find fd tee dd rm rmdir mv cp ln install mkdir touch chmod chown chgrp kill pkill killall truncate shred mount umount mkfs
	parallel vi vim nvim emacs ed ex tar zip unzip openssl gpg crontab at del erase move copy ren rd start call for if`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
