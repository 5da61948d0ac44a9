package offline

import (
	"runtime"
	"strings"
)

// parseCommand cuts a command line into a command and its arguments. A line that needs a shell, because it has pipes,
// redirections, variables or patterns outside quotes, becomes a call of the platform's shell.
func parseCommand(line string) (command string, args []string, ok bool) {
	words, plain := shellWords(line)
	switch {
	case len(words) == 0:
		return "", nil, false
	case !plain && runtime.GOOS == "windows":
		return "cmd", []string{"/c", line}, true
	case !plain:
		return "sh", []string{"-c", line}, true
	}
	return words[0], words[1:], true
}

// shellWords splits a line at spaces as a shell does, with its quotes. plain is false if only a shell can do the rest.
func shellWords(line string) (words []string, plain bool) {
	plain = true
	var b strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n', '\r':
			if begun {
				words = append(words, b.String())
				b.Reset()
				begun = false
			}
			if c == '\n' {
				plain = false
			}
			continue
		case '\'', '"':
			end := closeQuote(line, i)
			if end < 0 {
				plain = false // an apostrophe; let the shell say what it thinks of it
				b.WriteByte(c)
				break
			}
			inner := line[i+1 : end]
			if c == '"' {
				if strings.ContainsAny(inner, "$`") {
					plain = false
				}
				inner = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner)
			}
			b.WriteString(inner)
			i = end
		case '|', '&', '<', '>', ';', '$', '`', '*', '?', '(', ')', '#', '~', '{', '}', '[', ']':
			plain = false
			b.WriteByte(c)
		case '\\':
			if runtime.GOOS != "windows" {
				plain = false
			}
			b.WriteByte(c)
		case '=':
			if len(words) == 0 { // VARIABLE=value before the command
				plain = false
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
		begun = true
	}
	if begun {
		words = append(words, b.String())
	}
	return words, plain
}

// closeQuote returns the index of the quote that ends the one at line[at], or -1.
func closeQuote(line string, at int) int {
	for i := at + 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && line[at] == '"':
			i++
		case line[i] == line[at]:
			return i
		}
	}
	return -1
}

// commandLine is the reverse of parseCommand, for people.
func commandLine(command string, args []string) string {
	if (command == "sh" || command == "cmd") && len(args) == 2 && (args[0] == "-c" || args[0] == "/c") {
		return args[1]
	}
	var b strings.Builder
	b.WriteString(command)
	for _, a := range args {
		b.WriteByte(' ')
		if a == "" || strings.ContainsAny(a, " \t\n'\"") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		b.WriteString(a)
	}
	return b.String()
}
