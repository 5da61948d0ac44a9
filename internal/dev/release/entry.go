// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// entryFile is an agent.json in the order of its members.
type entryFile struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Repository   string   `json:"repository"`
	Authors      []string `json:"authors"`
	License      string   `json:"license"`
	Distribution struct {
		Binary map[string]target `json:"binary"`
	} `json:"distribution"`
}

type target struct {
	Archive string `json:"archive"`
	Cmd     string `json:"cmd"`
}

// archive is a file of the release.
type archive struct{ platform, name, program string }

// fill returns the entry of a version, and the archives that it names. The addresses lead to the
// repository's releases.
func fill(entry []byte, tag string) (filled []byte, archives []archive, err error) {
	var e entryFile
	dec := json.NewDecoder(bytes.NewReader(entry))
	dec.DisallowUnknownFields() // they would be lost
	if err := dec.Decode(&e); err != nil {
		return nil, nil, err
	}
	e.Version = strings.TrimPrefix(tag, "v")
	for _, platform := range slices.Sorted(maps.Keys(e.Distribution.Binary)) {
		t := e.Distribution.Binary[platform]
		a := archive{platform: platform, program: path.Base(t.Cmd), name: fmt.Sprintf(
			"ideagent-%s-%s.tar.gz", e.Version, platform,
		)}
		if strings.HasPrefix(platform, "windows-") {
			a.name = strings.TrimSuffix(a.name, ".tar.gz") + ".zip"
		}
		t.Archive = e.Repository + "/releases/download/" + tag + "/" + a.name
		e.Distribution.Binary[platform], archives = t, append(archives, a)
	}
	if filled, err = json.MarshalIndent(&e, "", "  "); err != nil {
		return nil, nil, err
	}
	filled = append(filled, '\n')
	_, err = acpclient.ParseRegistry(filled)
	return filled, archives, err
}

// pack returns an archive with a program, of the kind that its name tells.
func pack(name, program, file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if strings.HasSuffix(name, ".zip") {
		z := zip.NewWriter(&out)
		h := &zip.FileHeader{Name: program, Method: zip.Deflate}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = z.Close()
		}
		return out.Bytes(), err
	}
	g := gzip.NewWriter(&out)
	t := tar.NewWriter(g)
	if err := t.WriteHeader(&tar.Header{Name: program, Mode: 0o755, Size: int64(len(data)), Format: tar.FormatUSTAR}); err != nil {
		return nil, err
	}
	if _, err := t.Write(data); err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := g.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
