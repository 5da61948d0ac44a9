// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ListenAndServe serves the handler on an address of this machine until ctx ends, and then closes
// the handler. It listens on loopback addresses only: for others, put a proxy with TLS before it,
// or an [http.Server] of your own.
func ListenAndServe(ctx context.Context, address string, h *Handler) error {
	l, err := Listen(ctx, address)
	if err != nil {
		return err
	}
	return Serve(ctx, l, h)
}

// Listen listens on a loopback address, for [Serve].
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("acphttp: listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("acphttp: listen: %q is not a loopback address; use 127.0.0.1 or [::1]", host)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("acphttp: %w", err)
	}
	return l, nil
}

// Serve is [ListenAndServe] for a listener, which it closes.
func Serve(ctx context.Context, l net.Listener, h *Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(ctx, func() {
		_ = h.Close()
		_ = server.Close()
	})
	defer stop()
	err := server.Serve(l)
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		_ = h.Close() // waits for the agents
		return nil
	}
	return fmt.Errorf("acphttp: %w", err)
}
