// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"syscall"
)

// readDir lists a directory, in any order. os.File.ReadDir asks for the description of each entry,
// if the directory was opened by os.Root. That takes as long as everything else together. lstat
// describes an entry whose type the file system does not tell.
func readDir(dir *os.File, lstat func(name string) (fs.FileInfo, error)) (list []entry, err error) {
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 32<<10)
	for {
		var n int
		var failed error
		if err := raw.Control(func(fd uintptr) {
			for {
				if n, failed = syscall.ReadDirent(int(fd), buf); failed != syscall.EINTR {
					return
				}
			}
		}); err != nil {
			return nil, err
		}
		if failed != nil {
			return nil, failed
		}
		if n <= 0 {
			break
		}
		list = parseDirents(list, buf[:n])
	}
	known := list[:0]
	for _, e := range list {
		if e.mode == unknownType {
			info, err := lstat(e.name)
			if err != nil {
				continue // removed meanwhile
			}
			e.mode = info.Mode().Type()
		}
		known = append(known, e)
	}
	return known, nil
}

// unknownType marks a type that the file system does not report. No file has it.
const unknownType = fs.ModeDir | fs.ModeSymlink

// parseDirents adds the entries of a block: inode (8 bytes), offset (8), length (2), type (1) and
// the name, see getdents64(2).
func parseDirents(list []entry, block []byte) []entry {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	for len(block) > nameAt {
		length := int(binary.NativeEndian.Uint16(block[lengthAt:]))
		if length <= nameAt || length > len(block) {
			break
		}
		name, kind := block[nameAt:length], block[typeAt]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		block = block[length:]
		if s := string(name); s != "." && s != ".." {
			list = append(list, entry{s, typeOf(kind)})
		}
	}
	return list
}

func typeOf(kind byte) fs.FileMode {
	switch kind {
	case syscall.DT_REG:
		return 0
	case syscall.DT_DIR:
		return fs.ModeDir
	case syscall.DT_LNK:
		return fs.ModeSymlink
	case syscall.DT_FIFO:
		return fs.ModeNamedPipe
	case syscall.DT_SOCK:
		return fs.ModeSocket
	case syscall.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case syscall.DT_BLK:
		return fs.ModeDevice
	}
	return unknownType
}
