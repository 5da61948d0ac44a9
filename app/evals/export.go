// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/sealing"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// export writes a session as a test, or as a case of a dataset.
func export(ctx context.Context, store sessions.Store, out io.Writer, e linked.Export) error {
	known, err := changedFiles(e.Beside, e.Keyring)
	if err != nil {
		return err
	}
	o := replay.Options{Secrets: environmentSecrets(os.Environ()), Checkpoints: known}
	if e.Case {
		r, err := replay.Make(ctx, store, e.ID, o)
		if err != nil {
			return err
		}
		return r.WriteCases(out)
	}
	source := replay.Source{Package: e.Package, Setup: e.Setup}
	done, err := replay.Export(ctx, store, e.ID, e.Dir, source, o)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: remove it, or write to another directory with -out", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n%s\n\n%s\n", show.Line(done.Test), show.Line(done.File),
		show.Text(strings.Join(done.Recording.Notes, "\n")))
	return err
}

// changedFiles returns what a directory has of the files of a session, nil if there is none.
func changedFiles(dir string, ring *sessions.Keyring) (*checkpoint.Recorder, error) {
	if _, err := os.Stat(dir); dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	space, err := workspace.NewMemory(workspace.MemoryConfig{}) // nothing is written
	if err != nil {
		return nil, err
	}
	return checkpoint.Keep(space, dir, checkpoint.Options{Cipher: sealing.With(ring)})
}

// environmentSecrets returns the values of variables whose names say that they are secrets.
func environmentSecrets(environ []string) (all []string) {
	const least = 8
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name)
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD"} {
			if strings.Contains(name, word) && len(value) >= least {
				all = append(all, value)
				break
			}
		}
	}
	return all
}
