// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// fileLog is the file of a run, open and locked.
type fileLog struct {
	run string

	// commit is held while a batch is written.
	commit sync.Mutex
	file   *lockedFile
	size   int64

	mu     sync.Mutex
	err    error // why nothing more can be appended
	next   int   // number of the next line
	open   *batch
	opened [][]byte // the records found when the log was opened, until Load
}

// batch holds records that are written and synced together: those appended while the previous batch
// is written.
type batch struct {
	buf  []byte
	done chan struct{}
	err  error
}

// openLog reads a locked file and drops an incomplete write at its end.
func openLog(file *lockedFile, run string) (*fileLog, error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	records, good, err := parseFile(data, run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	l := &fileLog{run: run, file: file, size: int64(good), opened: records}
	if len(data) == 0 {
		return l, nil
	}
	if good > 0 {
		l.next = 1 + len(records)
	}
	if good < len(data) {
		err = file.Truncate(int64(good))
	}
	if err == nil { // what the last holder wrote may not have been synced
		err = file.Sync()
	}
	return l, err
}

// Load implements [Log].
func (l *fileLog) Load(context.Context) ([][]byte, error) {
	l.commit.Lock()
	defer l.commit.Unlock()
	l.mu.Lock()
	records, next := l.opened, l.next
	l.opened = nil
	closed := l.err == ErrClosed
	l.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if next == 0 || records != nil && next == 1+len(records) {
		return records, nil
	}
	data := make([]byte, l.size)
	if _, err := l.file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	records, good, err := parseFile(data, l.run)
	if err == nil && good < len(data) {
		err = fmt.Errorf("%w: the data at byte %d is lost", ErrCorrupt, good)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.file.Name(), err)
	}
	return records, nil
}

// Append implements [Log]. The first caller of a batch writes it once the previous batch has been
// written. Callers that arrive until then join it. So a lone record is written at once, and
// concurrent ones share a sync.
func (l *fileLog) Append(ctx context.Context, record []byte) error {
	if err := check(ctx, record); err != nil {
		return err
	}
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	b := l.open
	first := b == nil
	if first {
		b = &batch{done: make(chan struct{})}
		l.open = b
	}
	if l.next == 0 {
		b.buf = append(b.buf, headerLine(l.run)...)
		l.next = 1
	}
	b.buf = appendLine(b.buf, l.next, record)
	l.next++
	l.mu.Unlock()
	if !first {
		<-b.done
		return b.err
	}
	l.commit.Lock()
	l.mu.Lock()
	l.open = nil
	err := l.err
	l.mu.Unlock()
	if err == nil {
		err = l.write(b.buf)
	}
	b.err = err
	l.commit.Unlock()
	close(b.done)
	return err
}

// write makes a batch durable. After a failure the content of the file is unknown, so the log ends.
// When it is opened again, complete records count.
func (l *fileLog) write(buf []byte) error {
	_, err := l.file.WriteAt(buf, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil && l.size == 0 { // the file is new
		err = syncDir(filepath.Dir(l.file.Name()))
	}
	if err != nil { // it names the file
		l.end(err)
		return err
	}
	l.size += int64(len(buf))
	return nil
}

// end makes all further calls of Append fail.
func (l *fileLog) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// Close implements [Log]. A file without records is removed, where that can be done while it is
// locked.
func (l *fileLog) Close() error {
	l.mu.Lock()
	closed, failed := l.err == ErrClosed, l.err != nil
	l.err = ErrClosed
	l.mu.Unlock()
	l.commit.Lock()
	defer l.commit.Unlock()
	if l.size == 0 && !closed && !failed {
		return l.file.discard()
	}
	return l.file.Close()
}

// runOf returns the run that a file belongs to, or false if it is not a journal.
func runOf(path string) (run string, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return "", false
	}
	n, body, ok := parseLine(line)
	var h header
	if !ok || n != 0 || json.Unmarshal(body, &h) != nil || h.Format != formatName {
		return "", false
	}
	return h.run(), true
}
