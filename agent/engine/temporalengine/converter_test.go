// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
)

// TestClientWithoutTheConverterIsToldSo: small values can be converted by any client, so the mistake is found with the first large one.
func TestClientWithoutTheConverterIsToldSo(t *testing.T) {
	large := fmt.Errorf("payload item 0: encoding binary/ponte-blob: %w", converter.ErrEncodingIsNotSupported)
	var value mocks.Value
	value.On("Get", mock.Anything).Return(large)
	var run mocks.WorkflowRun
	run.On("Get", mock.Anything, mock.Anything).Return(large)
	var c mocks.Client
	c.On("QueryWorkflow", mock.Anything, "run-1", "", "state").Return(&value, nil)
	c.On("GetWorkflow", mock.Anything, "run-1", "").Return(&run)
	runs, err := temporalengine.NewClient[string](&c, temporalengine.ClientOptions{Name: "agent", TaskQueue: "agents"})
	require.NoError(t, err)
	_, err = runs.Run("run-1").State(t.Context())
	require.ErrorIs(t, err, converter.ErrEncodingIsNotSupported)
	require.ErrorContains(t, err, "dial Temporal with the DataConverter of the workers: see Converter")
	_, err = runs.Run("run-1").Result(t.Context())
	require.ErrorContains(t, err, "dial Temporal with the DataConverter of the workers: see Converter")
}
