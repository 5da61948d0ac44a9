// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/webbridge"
)

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/chat/", http.StripPrefix("/chat", webbridge.Page()))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/chat/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
