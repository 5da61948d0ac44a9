// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// progressFile keeps the trials that have ended, and a run that was killed continues with the
// others: see [Options.Resume].
type progressFile struct {
	name string
	f    *os.File
	keys []string // of the cases
}

// keptTrial is a line of the file.
type keptTrial struct {
	Version int         `json:"v"`
	Case    string      `json:"case"`
	Repeat  int         `json:"repeat"`
	Result  TrialResult `json:"result"`
}

// resume reads the trials that an earlier run has ended, and opens the file for further ones.
func (r *Runner) resume(name string) error {
	p := &progressFile{name: name, keys: make([]string, len(r.subjects))}
	at := map[string]int{}
	r.ended = make([][]bool, len(r.subjects))
	for i := range r.subjects {
		r.ended[i] = make([]bool, r.options.Repeats)
		p.keys[i] = r.key(i)
		at[p.keys[i]] = i
	}
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("evals: resume: %w", err)
	}
	lines := bufio.NewReader(bytes.NewReader(data))
	whole := int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // what is behind the last line break was cut off
			break
		}
		whole += int64(len(line))
		var t keptTrial
		if json.Unmarshal(line, &t) != nil || t.Version != ReportVersion {
			continue
		}
		i, ok := at[t.Case]
		if !ok || t.Repeat < 0 || t.Repeat >= r.options.Repeats || r.ended[i][t.Repeat] {
			continue
		}
		r.ended[i][t.Repeat] = true
		r.report.Cases[i].Trials[t.Repeat] = t.Result
		r.budget.meter.Add(t.Result.Usage)
		r.done++
	}
	p.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = p.f.Truncate(whole)
	}
	if err == nil {
		_, err = p.f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return fmt.Errorf("evals: resume: %w", err)
	}
	r.progress = p
	return nil
}

// key identifies a case and the known things that its result depends on.
func (r *Runner) key(i int) string {
	c := &r.report.Cases[i]
	var names []string
	for _, list := range [2][]Evaluator{r.evaluators, r.subjects[i].evaluators} {
		for _, e := range list {
			names = append(names, e.name)
		}
	}
	text, _ := json.Marshal([]any{
		r.report.Name, r.report.Dataset, c.Name, c.Input, c.Expected, names,
	})
	return fmt.Sprintf("%.16x", sha256.Sum256(text))
}

// keep writes a trial that counts.
func (p *progressFile) keep(i, repeat int, result *TrialResult) error {
	if !result.Counts() {
		return nil
	}
	line, err := json.Marshal(keptTrial{ReportVersion, p.keys[i], repeat, *result})
	if err == nil {
		_, err = p.f.Write(append(line, '\n'))
	}
	return err
}

// close ends the file. That of a run that is complete is removed.
func (p *progressFile) close(complete bool) {
	_ = p.f.Close()
	if complete {
		_ = os.Remove(p.name)
	}
}
