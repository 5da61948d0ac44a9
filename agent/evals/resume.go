// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ponte-go/ponte/toolset"
)

// keptTrial is a line of the file that keeps the trials that have ended: see [Options.Resume].
type keptTrial struct {
	Version int         `json:"v"`
	Case    string      `json:"case"`
	Repeat  int         `json:"repeat"`
	Result  TrialResult `json:"result"`
	// Used is what counted on the budget. Older lines have none: then it is the result's.
	Used *toolset.Usage `json:"used,omitempty"`
}

// resume reads the trials that an earlier run has ended, and prepares the file for further ones.
func (r *Runner) resume(name string) error {
	keys := make([]string, len(r.subjects))
	at := map[string]int{}
	r.ended = make([][]bool, len(r.subjects))
	for i := range r.subjects {
		r.ended[i] = make([]bool, r.options.Repeats)
		keys[i] = r.key(i)
		at[keys[i]] = i
	}
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("evals: resume: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // the rest was cut off
	for line := range bytes.Lines(data) {
		var t keptTrial
		if json.Unmarshal(line, &t) != nil || t.Version != ReportVersion {
			continue
		}
		i, ok := at[t.Case]
		if !ok || t.Repeat < 0 || t.Repeat >= r.options.Repeats || r.ended[i][t.Repeat] {
			continue
		}
		r.budget.meter.Add(*cmp.Or(t.Used, &t.Result.Usage))
		if t.Result.Counts() {
			r.ended[i][t.Repeat] = true
			r.report.Cases[i].Trials[t.Repeat] = t.Result
			r.done++
		}
	}
	r.resumed = r.done
	if r.done == len(r.subjects)*r.options.Repeats { // it was complete, but for the removal
		_ = os.Remove(name)
		return nil
	}
	if err = appendTo(name, nil); err == nil {
		err = os.Truncate(name, int64(len(data)))
	}
	if err != nil {
		return fmt.Errorf("evals: resume: %w", err)
	}
	r.hashes = keys
	return nil
}

// key identifies a case and the known things that its result depends on.
func (r *Runner) key(i int) string {
	c := &r.report.Cases[i]
	var names []string
	for _, e := range r.subjects[i].evaluators {
		names = append(names, e.name)
	}
	text, _ := json.Marshal([]any{
		r.report.Name, r.report.Dataset, c.Name, c.Input, c.Expected, names,
	})
	return fmt.Sprintf("%.16x", sha256.Sum256(text))
}

// write writes a trial. Of one that does not count there is only what it has used.
func (r *Runner) write(i, repeat int, result *TrialResult, used toolset.Usage) error {
	kept := keptTrial{ReportVersion, r.hashes[i], repeat, TrialResult{Status: result.Status}, &used}
	if result.Counts() {
		kept.Result = *result
	}
	line, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return appendTo(r.options.Resume, append(line, '\n'))
}

// appendTo appends to a file. It is open for no longer than that, because nobody closes a [Runner].
func appendTo(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(line)
		err = errors.Join(err, f.Close())
	}
	return err
}
