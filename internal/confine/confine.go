// SPDX-License-Identifier: Apache-2.0

// Package confine runs a program with fewer rights, on Linux: with Landlock, without capabilities,
// and with a filter of system calls. A process can only do that to itself, so a program starts
// itself again for each command that it confines: see [Helper].
package confine

import (
	"encoding/json"
	"os"
	"sync/atomic"
)

// Policy describes a confined program and its rights.
type Policy struct {
	// The program can read and execute the files of Read, with all below them, and also write those
	// of Write. It can read and write Devices. Links are followed.
	Read, Write, Devices []string
	// Filter is a filter of system calls, as the kernel reads it.
	Filter []byte
	// Program is a path, Args are its arguments without its name, Env its environment, and Dir its
	// directory.
	Program string
	Args    []string
	Env     []string
	Dir     string
}

// mark is the argument of a process that confines itself. FD is the descriptor of its policy.
const (
	mark = "ponte-confined-command"
	FD   = 5
)

var ready atomic.Bool

// Ready reports whether [Helper] was called, and this program can confine commands.
func Ready() bool { return ready.Load() }

// Helper must be called first in the main function of a program. In a process that was started to
// become a confined command, it does not return. Otherwise it returns at once.
func Helper() {
	if len(os.Args) == 2 && os.Args[1] == mark {
		become()
	}
	ready.Store(true)
}

// Args are the arguments of a process of this program that becomes a confined command. It inherits
// the file of [Encode] as the descriptor [FD].
func Args() []string { return []string{mark} }

// wire is a policy with bytes in the place of texts, which need not be UTF-8.
type wire struct {
	Read, Write, Devices, Args, Env [][]byte
	Filter, Program, Dir            []byte
}

// Encode returns a policy for [FD].
func Encode(p *Policy) ([]byte, error) {
	return json.Marshal(wire{
		raw(p.Read), raw(p.Write), raw(p.Devices), raw(p.Args), raw(p.Env),
		p.Filter, []byte(p.Program), []byte(p.Dir),
	})
}

func decode(data []byte) (*Policy, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	return &Policy{
		Read: texts(w.Read), Write: texts(w.Write), Devices: texts(w.Devices), Filter: w.Filter,
		Program: string(w.Program), Args: texts(w.Args), Env: texts(w.Env), Dir: string(w.Dir),
	}, nil
}

func raw(all []string) [][]byte {
	out := make([][]byte, len(all))
	for i, s := range all {
		out[i] = []byte(s)
	}
	return out
}

func texts(all [][]byte) []string {
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = string(b)
	}
	return out
}
