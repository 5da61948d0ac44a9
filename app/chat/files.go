// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"io/fs"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// careful is a workspace in which read-only files are not replaced, though that could be done: the
// user may have meant it.
type careful struct{ *local.Workspace }

func (c careful) Write(
	ctx context.Context, path string, data []byte, version workspace.Version,
) (workspace.Version, error) {
	if info, err := c.Stat(ctx, path); err == nil && info.Mode.IsRegular() && info.Mode&0o200 == 0 {
		return "", &workspace.PathError{Op: "write", Path: path, Err: fs.ErrPermission}
	}
	return c.Workspace.Write(ctx, path, data, version)
}
