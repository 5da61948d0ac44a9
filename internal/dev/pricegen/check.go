// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// check compares the table with what genai-prices computes, a request in each line, and reports the
// number of requests.
func check(in io.Reader, out io.Writer) error {
	n, wrong := 0, 0
	for lines := bufio.NewScanner(in); lines.Scan(); n++ {
		var want struct {
			Provider, Model string
			At              time.Time
			Usage           model.Usage
			Cost            *float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		price, ok := modelwrap.ListPrices().Price(want.Provider, want.Model, want.At)
		switch cost := price.Of(want.Usage); {
		case ok != (want.Cost != nil):
			fmt.Fprintf(out, "known: %t: %s\n", ok, lines.Bytes())
		case ok && math.Abs(cost-*want.Cost) > 1e-9*(*want.Cost):
			fmt.Fprintf(out, "%v: %s\n", cost, lines.Bytes())
		default:
			continue
		}
		wrong++
	}
	fmt.Fprintf(out, "%d requests, %d differ\n", n, wrong)
	if n == 0 || wrong > 0 {
		return errors.New("the table does not agree")
	}
	return nil
}
