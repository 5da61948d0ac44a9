// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"
	"os"
	"path/filepath"
	"sync"
)

// maxLog is the size at which a log file is set aside when a program begins to write to it.
const maxLog = 4 << 20

// logFile is where the log is written. A file is opened with the first line.
type logFile struct {
	mu     sync.Mutex
	to     io.Writer // nil once name is to be opened
	name   string
	opened *os.File
}

// LogToFile has the log written to a file in the program's state directory, for commands that draw
// on the terminal. The flag -log takes precedence.
func (e *Env) LogToFile() {
	if *e.logTo != "" {
		return
	}
	if dir, err := e.StateDir(); err == nil {
		e.log.file(filepath.Join(dir, e.Name+".log"))
	}
}

// file has further lines written to a file.
func (l *logFile) file(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

// Write implements [io.Writer]. If the file cannot be opened, lines are lost: there is nobody to
// tell.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.name == "" {
		return l.to.Write(p)
	}
	if l.opened == nil {
		if err := os.MkdirAll(filepath.Dir(l.name), 0o700); err != nil {
			return 0, err
		}
		if info, err := os.Stat(l.name); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
			_ = os.Rename(l.name, l.name+".old") // the last one; otherwise the file grows on
		}
		f, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		l.opened = f
	}
	return l.opened.Write(p)
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		_ = l.opened.Close()
		l.opened = nil
	}
}
