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
	if known := e.problem(at); known != nil {
		return fail(known)
	}
	select {
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
	if ifVersion != ws.AnyVersion {
		if !e.features.Read {
			return fail(fmt.Errorf("versions: %w", errors.ErrUnsupported))
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
	text := string(data)
	if _, err := e.Client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: e.Session.ID, Path: at.path, Content: text}); err != nil {
		return "", e.failure(ctx, "write", path, at, err)
	}
	return versionOf(text), nil
}
