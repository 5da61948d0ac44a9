// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app/offline"
)

func TestTheModelKeepsTheContract(t *testing.T) {
	modeltest.Conformance(t, modeltest.Harness{
		Unscripted: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			switch {
			case s.Silent:
				t.Skip("the model always comes to an end")
			case s.Error != nil || s.Fault != "":
				t.Skip("the model has no provider that could fail")
			}
			return offline.New(offline.Config{})
		},
	})
}
