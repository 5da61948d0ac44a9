// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// check reports a range that makes no sense. Such a range is a mistake of the program, not of the
// model.
func (r *Range) check() error {
	switch {
	case r.Line < 0 || r.Lines < 0 || r.Offset < 0 || r.Limit < 0:
		return errors.New("range: negative")
	case r.Offset > 0 && (r.Line > 0 || r.Lines > 0):
		return errors.New("range: both Offset and lines")
	}
	return nil
}

// Read reads the range from src, which is at the beginning of the file. It is for implementations
// of [Workspace.Read]: it sets Data, More and Lines of the result and leaves Info to the caller.
// If src can seek, Offset is not read through. The memory that Read uses does not depend on what
// lies before the range, or after it.
func (r Range) Read(ctx context.Context, src io.Reader) (File, error) {
	if err := r.check(); err != nil {
		return File{}, err
	}
	if r.Line > 0 || r.Lines > 0 {
		return r.readLines(ctx, src)
	}
	if err := skip(src, r.Offset); err != nil {
		return File{}, err
	}
	limit := r.limit()
	data, size := r.Buf[:0], int64(-1)
	if f, ok := src.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size() - r.Offset
		}
	}
	if size > int64(limit) && r.Limit == 0 {
		return File{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	if want := int(min(max(size+1, 512), int64(limit))); cap(data) < want {
		data = make([]byte, 0, want)
	}
	for len(data) < limit {
		if err := ctx.Err(); err != nil {
			return File{}, context.Cause(ctx)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := src.Read(data[len(data):min(cap(data), limit, len(data)+1<<20)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return File{Data: data}, nil
		}
		if err != nil {
			return File{}, err
		}
	}
	more, err := hasMore(src)
	if err == nil && more && r.Limit == 0 {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	if err != nil {
		return File{}, err
	}
	return File{Data: data, More: more}, nil
}

func (r *Range) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return MaxRead
}

// skip moves src forward.
func skip(src io.Reader, n int64) error {
	if n == 0 {
		return nil
	}
	if s, ok := src.(io.Seeker); ok {
		_, err := s.Seek(n, io.SeekStart)
		return err
	}
	if _, err := io.CopyN(io.Discard, src, n); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// hasMore reports whether src is not at its end. It reads a byte.
func hasMore(src io.Reader) (bool, error) {
	var b [1]byte
	_, err := io.ReadFull(src, b[:])
	if err == io.EOF {
		return false, nil
	}
	return err == nil, err
}

// readLines reads a range of lines. Without a number of lines it counts the lines of the whole
// file.
func (r *Range) readLines(ctx context.Context, src io.Reader) (File, error) {
	f := File{Data: r.Buf[:0]}
	buf := make([]byte, 64<<10)
	line, limit := 1, r.limit() // line is that of the next byte
	last := r.Line + r.Lines    // the line after the range
	if r.Line == 0 {
		last++
	}
	if r.Lines == 0 {
		last = int(^uint(0) >> 1)
	}
	open := false // the file does not end with a newline so far
	for {
		if ctx.Err() != nil {
			return File{}, context.Cause(ctx)
		}
		n, err := src.Read(buf)
		part := buf[:n]
		if n > 0 {
			open = part[n-1] != '\n'
		}
		for len(part) > 0 && line < r.Line {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				part = nil
				break
			}
			part, line = part[i+1:], line+1
		}
		for len(part) > 0 && line < last && !f.More {
			piece := part
			if r.Lines > 0 {
				if i := bytes.IndexByte(part, '\n'); i >= 0 {
					piece = part[:i+1]
				}
			}
			fits := piece[:min(len(piece), limit-len(f.Data))]
			f.Data, f.More = append(f.Data, fits...), len(fits) < len(piece)
			line += bytes.Count(piece, []byte{'\n'})
			part = part[len(piece):]
		}
		line += bytes.Count(part, []byte{'\n'}) // beyond the range
		switch {
		case f.More && r.Limit == 0:
			return File{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
		case r.Lines > 0 && (f.More || line >= last):
			return f, nil
		case err == io.EOF:
			if r.Lines == 0 {
				f.Lines = line - 1
				if open {
					f.Lines++
				}
			}
			return f, nil
		case err != nil:
			return File{}, err
		}
	}
}
