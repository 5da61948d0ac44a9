// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
)

// Serve goes on with the turns of processes that were killed, and runs prompts that wait, until ctx
// ends: see [host.Host.Serve]. It serves the sessions in [Options].Dirs, of all users. Call it once,
// after which the turns go on without anybody who types. End it after [Handler.Shutdown].
func (h *Handler) Serve(ctx context.Context) error { return h.host.Serve(ctx, h.serves) }

// WillServe says that Serve is about to be called: see [host.Host.WillServe]. Call it before the
// handler gets requests.
func (h *Handler) WillServe() { h.host.WillServe(h.serves) }

func (h *Handler) serves(i *session.Info) bool { return h.isIn(i.Dir) }

// isIn reports whether sessions in a directory are served.
func (h *Handler) isIn(dir string) bool { return dir == "" || slices.Contains(h.o.Dirs, dir) }
