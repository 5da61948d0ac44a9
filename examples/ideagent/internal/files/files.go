// SPDX-License-Identifier: Apache-2.0

// Package files reads and writes the text files of one directory for an agent, and nothing beyond: a path that leads
// out of the directory, directly or through a symbolic link, is refused, even if a link is changed at the same time.
package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size in bytes of the largest file that is read or written.
const MaxSize = 64 << 20

// Errors for what is refused. That a file does not exist is [fs.ErrNotExist].
var (
	// ErrOutside means that a path leads out of the directory.
	ErrOutside = errors.New("outside of the session's directory")
	// ErrNotText means that a file is not UTF-8 text, or no regular file at all.
	ErrNotText = errors.New("not a text file")
	// ErrTooLarge means that a file is larger than [MaxSize].
	ErrTooLarge = errors.New("too large")
)

// Dir gives access to the files of a directory. It is safe for concurrent use.
type Dir struct {
	root *os.Root
	// name is the directory as it was given, real the same without symbolic links.
	name, real string
}

// Open opens a directory, by its absolute path.
func Open(dir string) (*Dir, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("files: directory %q is not absolute", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return &Dir{root, filepath.Clean(dir), real}, nil
}

// Close gives the directory back.
func (d *Dir) Close() error { return d.root.Close() }

// resolve returns the path of a file relative to the directory, with symbolic links resolved. Only the last elements
// may be missing.
func (d *Dir) resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("files: path %q is not absolute", path)
	}
	existing, rest := filepath.Clean(path), ""
	for {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			existing = real
			break
		}
		if info, linkErr := os.Lstat(existing); linkErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("files: %s is a symbolic link that leads nowhere: %w", path, fs.ErrNotExist)
		}
		parent := filepath.Dir(existing)
		if !errors.Is(err, fs.ErrNotExist) || parent == existing {
			return "", fmt.Errorf("files: %w", err)
		}
		existing, rest = parent, filepath.Join(filepath.Base(existing), rest)
	}
	local, err := filepath.Rel(d.real, filepath.Join(existing, rest))
	if err != nil || !filepath.IsLocal(local) {
		return "", fmt.Errorf("files: %s is %w %s", path, ErrOutside, d.name)
	}
	return local, nil
}

// Read returns the text of a file: all of it, or at most limit lines beginning with line, which counts from 1. 0 means
// the first line and no limit.
func (d *Dir) Read(path string, line, limit int) (string, error) {
	local, err := d.resolve(path)
	if err != nil {
		return "", err
	}
	// A look first: to open a named pipe would wait for somebody to write.
	info, err := d.root.Stat(local)
	if err != nil {
		return "", fmt.Errorf("files: %w", named(err, path))
	}
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("files: %s is %w: %s", path, ErrNotText, kind(info.Mode()))
	case info.Size() > MaxSize:
		return "", fmt.Errorf("files: %s is %w: %d bytes, at most %d", path, ErrTooLarge, info.Size(), MaxSize)
	}
	f, err := d.root.Open(local)
	if err != nil {
		return "", fmt.Errorf("files: %w", named(err, path))
	}
	defer f.Close()
	text, err := readLines(io.LimitReader(f, MaxSize), line, limit, int(info.Size()))
	switch {
	case err != nil:
		return "", fmt.Errorf("files: %w", named(err, path))
	case !utf8.ValidString(text):
		return "", fmt.Errorf("files: %s is %w: it is not UTF-8", path, ErrNotText)
	}
	return text, nil
}

func readLines(r io.Reader, line, limit, size int) (string, error) {
	var b strings.Builder
	if line <= 1 && limit <= 0 {
		b.Grow(size)
		_, err := io.Copy(&b, r)
		return b.String(), err
	}
	lines := bufio.NewReaderSize(r, 64<<10)
	for at := 1; limit <= 0 || at < max(line, 1)+limit; {
		chunk, err := lines.ReadSlice('\n')
		if at >= line {
			b.Write(chunk)
		}
		switch {
		case err == nil:
			at++
		case errors.Is(err, io.EOF):
			return b.String(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
	return b.String(), nil
}

// Write replaces the text of a file, or creates it with the directories above it. A reader sees the old text or the
// new one, never a part. The permissions of the file stay; a symbolic link stays one.
func (d *Dir) Write(path, text string) error {
	if len(text) > MaxSize {
		return fmt.Errorf("files: %s would be %w: %d bytes, at most %d", path, ErrTooLarge, len(text), MaxSize)
	}
	local, err := d.resolve(path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0)
	switch info, err := d.root.Stat(local); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("files: %s is %w: %s", path, ErrNotText, kind(info.Mode()))
	case err == nil:
		mode = info.Mode().Perm()
		// To replace a file takes no right to write to it, but the user may have meant something by taking it away.
		if mode&0o200 == 0 {
			return fmt.Errorf("files: %s is read-only: %w", path, fs.ErrPermission)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("files: %w", named(err, path))
	default:
		if err := d.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
			return fmt.Errorf("files: %w", named(err, path))
		}
	}
	if err := d.replace(local, text, mode); err != nil {
		return fmt.Errorf("files: %w", named(err, path))
	}
	return nil
}

// replace writes a temporary file beside the file and puts it into its place. Mode 0 stands for a new file.
func (d *Dir) replace(local, text string, mode fs.FileMode) (err error) {
	temporary := filepath.Join(filepath.Dir(local), fmt.Sprintf(".%s.%08x.tmp", filepath.Base(local), rand.Uint32()))
	create := mode
	if create == 0 {
		create = 0o666 // the umask decides
	}
	f, err := d.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, create)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.root.Remove(temporary)
		}
	}()
	_, err = f.WriteString(text)
	if err == nil && mode != 0 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.root.Rename(temporary, local)
}

// named puts the path that the user knows into an error of the file system.
func named(err error, path string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	return err
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "it is a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "it is a named pipe"
	case mode&fs.ModeDevice != 0:
		return "it is a device"
	case mode&fs.ModeSocket != 0:
		return "it is a socket"
	}
	return "it is no regular file"
}
