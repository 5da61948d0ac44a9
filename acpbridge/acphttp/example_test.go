// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"fmt"
	"net/http"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// A page of another origin is refused, whatever token it has.
func ExampleGuard_Check() {
	guard := acphttp.Guard{Token: "0123456789abcdef"}
	r, err := http.NewRequest("POST", "http://localhost:7777/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Header.Set("Authorization", "Bearer 0123456789abcdef")
	fmt.Println(guard.Check(r, ""))
	r.Header.Set("Origin", "https://evil.example")
	fmt.Println(guard.Check(r, ""))
	// Output:
	// 0
	// 403
}
