// SPDX-License-Identifier: Apache-2.0

// Command acpgen generates the protocol types of package acp from the JSON schema of the Agent
// Client Protocol.
//
// The schema is not kept in this repository. It is read out of a pinned release of the npm package
// that publishes it, with npm's own configuration deciding where that comes from, or out of a file
// named by -schema. Either way its SHA-256 must match the pinned one. The output then depends only
// on this program:
//
//	go generate ./acpbridge/acp
//	go run ./internal/dev/acpgen -schema schema.json -out acpbridge/acp
//	go generate ./acpbridge/acp/unstable
//
// Only the structure of the schema is used; comments in the output are this program's own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	schemaFile := flag.String("schema", "", "read the schema from `file` instead of the pinned npm package")
	unstableFile := flag.String("unstable-schema", "", "likewise the unstable schema, for -unstable")
	extra := flag.Bool(
		"unstable", false,
		"generate package unstable: what the unstable schema has beyond the stable one",
	)
	out := flag.String("out", ".", "write the generated files into `dir`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *schemaFile, *unstableFile, *extra, *out); err != nil {
		fmt.Fprintln(os.Stderr, "acpgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, schemaFile, unstableFile string, extra bool, out string) error {
	data, err := loadSchema(ctx, schemaFile)
	if err != nil {
		return err
	}
	var files []file
	if extra {
		var more []byte
		if more, err = loadPinned(ctx, unstableFile, unstablePath, unstableSHA256); err != nil {
			return err
		}
		files, err = generateUnstable(data, more)
	} else {
		files, err = generate(data)
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(out, f.name), f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
