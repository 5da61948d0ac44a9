// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// openAll opens a model of every registered provider, those of packages that are new included. An
// adapter that takes no query in its address, because its SDK keeps none, gets none.
func openAll(t *testing.T, o model.OpenOptions) map[string]model.Model {
	t.Helper()
	o.Getenv = func(string) string { return "" }
	models := map[string]model.Model{}
	for provider := range model.Providers() {
		m, err := model.OpenWith(t.Context(), provider+":m", o)
		if base, _ := url.Parse(o.BaseURL); err != nil && base.RawQuery != "" {
			base.RawQuery = ""
			plain := o
			plain.BaseURL = base.String()
			m, err = model.OpenWith(t.Context(), provider+":m", plain)
		}
		require.NoError(t, err, provider)
		models[provider] = m
	}
	return models
}
