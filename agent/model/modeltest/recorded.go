// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
)

// recordVariable is the environment variable that enables recording.
const recordVariable = "PONTE_RECORD"

const howToRecord = "to record again, run the test with " + recordVariable + "=1"

// Recorded returns a model for a test. Its exchanges with a real model are stored in a file,
// usually in testdata. By default it answers from the file ([Replay]). If [Recording] returns true,
// it calls open instead, lets the test talk to that model, and writes the file at the end of the
// test ([Record]):
//
//	m := modeltest.Recorded(t, "testdata/forecast.json", func() (model.Model, error) {
//		return openaimodel.New(openaimodel.Config{Name: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY")})
//	})
//
// The test fails at once if there is no file, or if open fails. If exchanges are left over at the
// end, the test logs their number. The recording should then be made again.
func Recorded(t testing.TB, file string, open func() (model.Model, error)) model.Model {
	t.Helper()
	recording, err := isRecording(file)
	if err != nil {
		t.Fatalf("modeltest: %v", err)
	}
	if !recording {
		r, err := Replay(file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v; %s", err, howToRecord)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if n := r.Left(); n > 0 {
				t.Logf("modeltest: replay %s: %d of %d exchanges were not used; %s", file, n, len(r.exchanges), howToRecord)
			}
		})
		return r
	}
	m, err := open()
	if err != nil {
		t.Fatalf("modeltest: record %s: %v", file, err)
	}
	r := Record(m, file)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Recording reports whether [Recorded] records a file instead of answering from it. It does if
// PONTE_RECORD is "1" or a regular expression that matches the file's path, or if the test binary
// has a boolean flag named "record" that is set:
//
//	var _ = flag.Bool("record", false, "record exchanges with real models")
func Recording(file string) bool {
	recording, _ := isRecording(file)
	return recording
}

func isRecording(file string) (bool, error) {
	if f := flag.Lookup("record"); f != nil {
		if getter, ok := f.Value.(flag.Getter); ok && getter.Get() == true {
			return true, nil
		}
	}
	value := os.Getenv(recordVariable)
	if value == "" {
		return false, nil
	}
	if on, err := strconv.ParseBool(value); err == nil {
		return on, nil
	}
	matched, err := regexp.MatchString(value, file)
	if err != nil {
		return false, errors.New(recordVariable + " is neither 1 nor a regular expression: " + err.Error())
	}
	return matched, nil
}
