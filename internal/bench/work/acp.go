// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"strings"
	"testing"
)

// What goes over a connection of the Agent Client Protocol.
const (
	Session = "s"
	Path    = "/f.go"
	Chunk   = "The quick brown fox jumps over the lazy dog. "
)

// ACP does the work with one implementation of the Agent Client Protocol. Each function prepares a connection that is closed by
// tb.Cleanup, and returns what uses it.
type ACP struct {
	// SendChunk is an agent's connection whose writer takes everything at once; what uses it sends [Chunk] as a part of the
	// agent's answer.
	SendChunk func(tb testing.TB) func(ctx context.Context) error
	// ReadFile is an agent that is connected to a client over the operating system's pipes; what uses it reads a file of that
	// content through the client.
	ReadFile func(tb testing.TB, content string) func(ctx context.Context) (string, error)
	// Prompt is a client that is connected to an agent over the operating system's pipes; what uses it sends a prompt that the
	// agent answers at once.
	Prompt func(tb testing.TB) func(ctx context.Context) error
	// Largest is the size of the longest message that gets through, in bytes; 0 if unlimited.
	Largest int
}

// BenchmarkACP measures an implementation, one sub-benchmark for each row of the table.
func BenchmarkACP(b *testing.B, a ACP) {
	b.Run("SendChunk", func(b *testing.B) { benchmarkCall(b, a.SendChunk(b)) })
	b.Run("Prompt", func(b *testing.B) { benchmarkCall(b, a.Prompt(b)) })
	b.Run("Read1MiB", func(b *testing.B) { benchmarkRead(b, a, 1<<20) })
	if a.Largest == 0 || a.Largest > 32<<20 {
		b.Run("Read32MiB", func(b *testing.B) { benchmarkRead(b, a, 32<<20) })
	}
}

func benchmarkCall(b *testing.B, call func(ctx context.Context) error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := call(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// line is Go source: as JSON it needs escapes.
const line = "\tif err := conn.SessionUpdate(ctx, \"x\"); err != nil {\n"

func benchmarkRead(b *testing.B, a ACP, size int) {
	content := strings.Repeat(line, size/len(line))
	read := a.ReadFile(b, content)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if got, err := read(b.Context()); err != nil || len(got) != len(content) {
			b.Fatalf("%d bytes, error %v", len(got), err)
		}
	}
}
