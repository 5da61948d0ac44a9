// SPDX-License-Identifier: Apache-2.0

package local

import "strings"

// signalName returns the name of a signal in words, as package syscall has it, for one such as
// "SIGKILL".
func signalName(name string) string {
	if words, ok := signalWords[name]; ok {
		return words
	}
	return strings.ToLower(name)
}

var signalWords = map[string]string{
	"": "", "SIGHUP": "hangup", "SIGINT": "interrupt", "SIGQUIT": "quit", "SIGILL": "illegal instruction", "SIGTRAP": "trace/breakpoint trap",
	"SIGABRT": "aborted", "SIGBUS": "bus error", "SIGFPE": "floating point exception", "SIGKILL": "killed", "SIGSEGV": "segmentation fault",
	"SIGPIPE": "broken pipe", "SIGALRM": "alarm clock", "SIGTERM": "terminated",
}
