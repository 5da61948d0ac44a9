// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// A version is a stamp or a hash.
//
// A stamp is made of the inode, the size and the times of modification and change. The system sets the time of change with every write,
// and programs cannot set it back. But clocks of file systems are coarse: two writes within a few milliseconds, on some
// systems within two seconds, may leave the same times. So a file that has just been changed has the hash of its contents for a version, and a
// stamp is given only once everything that changes the file is sure to change the stamp.
const (
	stampPrefix = "s"
	hashPrefix  = "h"
)

// settled is how long after a change a file gets a stamp. FAT has the coarsest clock, two seconds.
var settled = 2500 * time.Millisecond

// stampOf returns the stamp of a file, if it is old enough for one.
func stampOf(info fs.FileInfo) (workspace.Version, bool) {
	inode, changed, ok := identity(info)
	// A time in the future is another machine's clock, on a network file system.
	if !ok || time.Since(changed) < settled || time.Since(info.ModTime()) < settled {
		return "", false
	}
	return workspace.Version(fmt.Sprintf("%s%x-%x-%x-%x", stampPrefix, inode, info.Size(), info.ModTime().UnixNano(), changed.UnixNano())), true
}

func hashOf(data []byte) workspace.Version {
	h := sha256.New()
	h.Write(data)
	return hashVersion(h)
}

func hashVersion(h hash.Hash) workspace.Version {
	return workspace.Version(hashPrefix + hex.EncodeToString(h.Sum(nil)[:16]))
}

// versionIn returns the version of a file; it is empty for what is not a regular file.
func versionIn(ctx context.Context, r *os.Root, rel string, info fs.FileInfo) (workspace.Version, error) {
	if !info.Mode().IsRegular() {
		return "", nil
	}
	if v, ok := stampOf(info); ok {
		return v, nil
	}
	return hashFile(ctx, r, rel, info)
}

// hashFile reads a file and returns the hash of its contents.
func hashFile(ctx context.Context, r *os.Root, rel string, info fs.FileInfo) (workspace.Version, error) {
	file, _, err := openRegular(r, rel, info)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h, buf := sha256.New(), make([]byte, 64<<10)
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		n, err := file.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return hashVersion(h), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// check reports whether the file, nil for none, has a version.
func check(ctx context.Context, p *place, want workspace.Version) error {
	switch {
	case want == workspace.AnyVersion:
		return nil
	case p.info == nil && want == "":
		return nil
	case p.info == nil || want == "":
		return workspace.ErrChanged
	}
	if strings.HasPrefix(string(want), hashPrefix) {
		got, err := hashFile(ctx, p.root.Root, p.rel, p.info)
		if err == nil && got != want {
			err = workspace.ErrChanged
		}
		return err
	}
	if got, ok := stampOf(p.info); !ok || got != want {
		return workspace.ErrChanged
	}
	return nil
}
