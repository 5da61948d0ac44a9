// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The schemas' source. To move to another release, change all together and review the diff of the
// output.
const (
	npmPackage   = "@agentclientprotocol/sdk@2.4.0"
	schemaPath   = "package/schema/v1/schema.json"
	schemaSHA256 = "0d0b1ca83c4872e5473f68926a894c7a8203b59b118e2a79bfe43dd76fbcbc1a"

	unstablePath   = "package/schema/v1/schema.unstable.json"
	unstableSHA256 = "ce7881d10c854bcac4f0e7d3a9ce4fb0f612ec0a09e64b572940beec4668c189"
)

// maxSchema bounds what is read out of the archive.
const maxSchema = 16 << 20

// loadSchema reads the stable schema from file, or from the pinned npm package if file is empty,
// and verifies its checksum.
func loadSchema(ctx context.Context, file string) ([]byte, error) {
	return loadPinned(ctx, file, schemaPath, schemaSHA256)
}

// loadPinned is loadSchema for any file of the package.
func loadPinned(ctx context.Context, file, path, checksum string) ([]byte, error) {
	var data []byte
	var err error
	if file != "" {
		data, err = os.ReadFile(file)
	} else {
		data, err = packSchema(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != checksum {
		return nil, fmt.Errorf("schema has SHA-256 %s, want %s (that of %s)", got, checksum, npmPackage)
	}
	return data, nil
}

// packSchema downloads the package's archive with npm and returns a file in it. No script of the
// package is run.
func packSchema(ctx context.Context, path string) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf(
			"npm is needed to fetch %s (or name a copy of its schema with -schema): %w", npmPackage,
			err,
		)
	}
	dir, err := os.MkdirTemp("", "acpgen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	cmd := exec.CommandContext(
		ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, npmPackage,
	)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w\n%s", npmPackage, err, stderr.String())
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		return nil, err
	}
	if len(archives) != 1 {
		return nil, fmt.Errorf("npm pack %s left %d archives, want 1", npmPackage, len(archives))
	}
	f, err := os.Open(archives[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readArchive(f, path)
}

// readArchive returns the contents of the named file of a gzipped tar archive.
func readArchive(r io.Reader, name string) ([]byte, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read archive: no file %s", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read archive: %w", err)
		}
		if h.Name == name {
			return io.ReadAll(io.LimitReader(tr, maxSchema))
		}
	}
}
