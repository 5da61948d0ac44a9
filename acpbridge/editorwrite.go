// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// versionOf identifies contents.
func versionOf(text string) ws.Version {
	return ws.Version(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))))
}

// Write implements [ws.Workspace]. A version can be checked only if the editor can read.
func (e *editor) Write(ctx context.Context, path string, data []byte, ifVersion ws.Version) (ws.Version, error) {
	at, err := e.begin(ctx, "write", path, e.features.Write)
	if err != nil {
		return "", err
	}
	fail := func(err error) (ws.Version, error) { return "", &ws.PathError{Op: "write", Path: path, Err: err} }
	if !utf8.Valid(data) {
		return fail(ws.ErrBinary)
	}
	unlock, err := e.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if ifVersion != ws.AnyVersion {
		if !e.features.Read {
			return fail(fmt.Errorf("versions: %w", errors.ErrUnsupported))
		}
		if known := e.problem(at); known != nil {
			return fail(known)
		}
		resp, err := e.Client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: e.Session.ID, Path: at.path})
		switch {
		case err == nil && versionOf(resp.Content) == ifVersion:
		case err == nil, ctx.Err() == nil && isNotFound(err) && ifVersion != "":
			return fail(ws.ErrChanged)
		case ctx.Err() == nil && isNotFound(err):
		default:
			return "", e.failure(ctx, "write", path, at, err)
		}
	}
	if err := e.write(ctx, path, data); err != nil {
		return "", err
	}
	return versionOf(string(data)), nil
}

// write writes a file, whatever is there.
func (e *editor) write(ctx context.Context, path string, data []byte) error {
	at, err := e.begin(ctx, "write", path, e.features.Write)
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		err = ws.ErrBinary
	} else {
		err = e.problem(at)
	}
	if err != nil {
		return &ws.PathError{Op: "write", Path: path, Err: err}
	}
	if _, err := e.Client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: e.Session.ID, Path: at.path, Content: string(data)}); err != nil {
		return e.failure(ctx, "write", path, at, err)
	}
	return nil
}

// lock keeps other writers out while a file is compared and written.
func (e *editor) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case e.writing <- struct{}{}:
		return func() { <-e.writing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
