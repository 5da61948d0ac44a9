// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

// Exported names the files that [Export] has written.
type Exported struct {
	// Test and File are the names of the test and of the recording.
	Test, File string
	Recording  *Recording
}

// Export makes a recording of a stored session, and writes it with its test to a directory: the
// recording as Source.File, and the test beside it as NAME_test.go, where NAME has hyphens instead
// of underscores, in which Go would read conditions. Files that exist are not replaced: the error
// wraps [fs.ErrExist].
func Export(ctx context.Context, store session.Store, id, dir string, s Source,
	o Options) (*Exported, error) {
	r, err := Make(ctx, store, id, o)
	if err != nil {
		return nil, err
	}
	if s, err = s.withDefaults(r); err != nil {
		return nil, err
	}
	// Go reads systems and processors behind underscores, and ignores files that begin with one.
	name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(s.File), ".json"), "_", "-")
	name = cmp.Or(strings.TrimLeft(name, "-."), "session")
	done := &Exported{
		Test:      filepath.Join(dir, name+"_test.go"),
		File:      filepath.Join(dir, filepath.FromSlash(s.File)),
		Recording: r,
	}
	for _, file := range []string{done.Test, done.File} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("replay: %s: %w", file, errors.Join(err, fs.ErrExist))
		}
	}
	var source bytes.Buffer
	if err := r.WriteTest(&source, s); err != nil {
		return nil, err
	}
	if err := r.Save(done.File); err != nil {
		return nil, err
	}
	return done, replaceFile(done.Test, source.Bytes())
}
