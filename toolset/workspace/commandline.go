// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// commandOf reads a command as models write it: a line, or a program with arguments. dir is not resolved. The error is for the model.
func commandOf(style Style, in runCommandArgs) (Command, error) {
	c := Command{Dir: in.Cwd}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		c.Env = append(c.Env, name+"="+in.Env[name])
	}
	line := strings.Trim(in.Command, blanks)
	program, _, more := strings.Cut(line, " ")
	switch {
	case line == "":
		return c, toolset.Retry("The command is empty.")
	case len(in.Args) == 0:
		c.Line = line
	case !more, strings.ContainsAny(program, `/\`): // a path may have spaces
		c.Args = append([]string{line}, in.Args...)
	case style == Slash && !strings.ContainsAny(line, posixMeta):
		c.Line = line + " " + strings.Join(quoteAll(in.Args), " ")
	default:
		return c, toolset.Retry("Give either a whole command line in command, without args, or a program in command and its arguments in args.")
	}
	if err := c.Check(); err != nil {
		return c, toolset.Retry("The command is malformed: %s.", strings.TrimPrefix(err.Error(), ErrCommand.Error()+": "))
	}
	return c, nil
}

// Argv returns the command as a program with its arguments, for systems that start nothing else. A line is given to sh, or to cmd on
// Windows: only a shell knows what its words are and which of them it does itself.
func (c *Command) Argv(style Style) []string {
	switch {
	case len(c.Args) > 0:
		return c.Args
	case style == Windows: // much of what one types there is built into the shell
		return []string{"cmd", "/C", c.Line}
	}
	return []string{"sh", "-c", c.Line}
}

const (
	// blanks are what shells skip before and after a line.
	blanks = " \t\r\n"
	// posixMeta are the characters that a POSIX shell gives a meaning to anywhere in a word.
	posixMeta = "|&;<>()$`\\\"'*?[]{}~#!\n\r"
)

// commandTitle returns a command for people: as the model wrote it, or quoted for a shell.
func commandTitle(c Command) string {
	if len(c.Args) == 0 {
		return c.Line
	}
	return strings.Join(quoteAll(c.Args), " ")
}

func quoteAll(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return quoted
}

// quoteWord quotes a word for a POSIX shell, for people to read.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, posixMeta+" \t") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// howEnded describes how a command ended.
func howEnded(exit *Exit) string {
	switch {
	case exit == nil:
		return "still running"
	case exit.Signal != "":
		return "killed by signal " + exit.Signal
	case exit.Code < 0:
		return "ended, exit code unknown"
	}
	return fmt.Sprintf("exit code %d", exit.Code)
}
