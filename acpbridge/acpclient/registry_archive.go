// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// format returns the file ending for the format of an archive, or "" for a plain program.
func format(address string) string {
	address, _, _ = strings.Cut(address, "?")
	for _, ending := range []string{".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"} {
		if strings.HasSuffix(strings.ToLower(address), ending) {
			return ending
		}
	}
	return ""
}

// unpacker writes what is in an archive below a root, which nothing can leave.
type unpacker struct {
	ctx     context.Context
	to      *os.Root
	entries int
	left    int64 // bytes
}

// unpack unpacks a file of a format, or copies it to program if it is not an archive.
func unpack(ctx context.Context, format string, file *os.File, size int64, to *os.Root, program string) error {
	u := &unpacker{ctx: ctx, to: to, left: maxUnpacked}
	switch format {
	case ".zip":
		r, err := zip.NewReader(file, size)
		if err != nil {
			return err
		}
		return u.zip(r)
	case ".tar.gz", ".tgz":
		r, err := gzip.NewReader(file)
		if err != nil {
			return err
		}
		return u.tar(tar.NewReader(r))
	case ".tar.bz2", ".tbz2":
		return u.tar(tar.NewReader(bzip2.NewReader(file)))
	}
	return u.file(program, 0o755, file)
}

func (u *unpacker) tar(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.dir(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, h.FileInfo().Mode(), r)
		case tar.TypeSymlink:
			err = u.link(h.Name, h.Linkname)
		case tar.TypeXGlobalHeader:
		default:
			err = fmt.Errorf("%q is neither a file nor a directory", cutName(h.Name))
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(r *zip.Reader) error {
	for _, f := range r.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) error {
	mode := f.Mode()
	switch {
	case mode.IsDir():
		return u.dir(f.Name)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return fmt.Errorf("%q is neither a file nor a directory", cutName(f.Name))
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if mode.IsRegular() {
		return u.file(f.Name, mode, r)
	}
	target, err := io.ReadAll(io.LimitReader(r, maxText))
	if err != nil {
		return err
	}
	return u.link(f.Name, string(target))
}

// place checks an entry's name, and makes the directory that it lies in.
func (u *unpacker) place(name string) (string, error) {
	if err := u.ctx.Err(); err != nil {
		return "", err
	}
	if u.entries++; u.entries > maxEntries {
		return "", fmt.Errorf("the archive has more than %d files", maxEntries)
	}
	if !inside(name) {
		return "", fmt.Errorf("%q leads out of the archive", cutName(name))
	}
	name = path.Clean(name)
	return name, u.to.MkdirAll(path.Dir(name), 0o755)
}

func (u *unpacker) dir(name string) error {
	if path.Clean(name) == "." {
		return nil
	}
	name, err := u.place(name)
	if err != nil {
		return err
	}
	return u.to.MkdirAll(name, 0o755)
}

func (u *unpacker) file(name string, mode fs.FileMode, from io.Reader) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	f, err := u.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|mode.Perm()&0o111)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(from, u.left+1))
	if u.left -= n; err == nil && u.left < 0 {
		err = fmt.Errorf("the archive has more than %d bytes in it", int64(maxUnpacked))
	}
	return errors.Join(err, f.Close())
}

// link makes a symbolic link that stays inside.
func (u *unpacker) link(name, target string) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || !inside(path.Join(path.Dir(name), target)) {
		return fmt.Errorf("%q is a link that leads out of the archive", cutName(name))
	}
	return u.to.Symlink(target, name)
}
