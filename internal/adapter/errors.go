// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// Classify sets Retryable, and Err to the identity of the error where the status does not tell it,
// going by Status, Code, Type and Message. Status below 400 means that the error came in the middle
// of a stream.
func Classify(e *model.APIError) {
	is := func(names string) bool { return isOneOf(e.Code, names) || isOneOf(e.Type, names) }
	outOfQuota := e.Status == http.StatusPaymentRequired || is("insufficient_quota|billing_hard_limit_reached|insufficient_balance")
	switch {
	case e.Status >= 400:
		e.Retryable = RetryableStatus(e.Status)
	case is("invalid_request_error|badrequesterror"):
	default: // in the middle of a stream
		e.Retryable = is("server_error|internal_error|internal_server_error|internalservererror|api_error|" +
			"overloaded|overloaded_error|rate_limit_exceeded|rate_limit_error|unavailable_error|" +
			"service_unavailable|timeout|server_overloaded")
	}
	switch {
	case outOfQuota:
		e.Retryable = false
		e.Err = model.ErrRateLimited
	case is("rate_limit_exceeded|rate_limit_error"):
		e.Err = model.ErrRateLimited
	case is("invalid_api_key|authentication_error"):
		e.Err = model.ErrAuth
	case is(contextLengthCodes) || saysContextLength(e):
		e.Retryable = false
		e.Err = model.ErrContextLength
	}
}

// isOneOf reports whether name is one of the names, which bars separate, in whatever case.
func isOneOf(name, names string) bool {
	return name != "" && strings.Contains("|"+names+"|", "|"+strings.ToLower(name)+"|")
}

// RetryableStatus reports whether the same request may succeed later, going by the status of its
// answer.
func RetryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return status >= 500
}

// TransportError returns the error for a request to the address where that was not answered. It
// quotes err through redact only.
func TransportError(info model.Info, where string, err error, redact func(string) string) *model.APIError {
	// A *url.Error would name the URL again.
	if wrapped := (*url.Error)(nil); errs.As(err, &wrapped) {
		err = wrapped.Err
	}
	e := &model.APIError{Provider: info.Provider, Model: info.Name, Err: Cleaned(err, redact), Retryable: true}
	why := redact(err.Error())
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errs.As(err, &dial) && (dial.Op == "proxyconnect" || strings.HasPrefix(dial.Op, "socks")):
		e.Message = fmt.Sprintf("the proxy for %s fails: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY (%s)", where, why)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("nothing listens at %s: start the server, or correct the base URL (%s)", where, why)
	case errs.As(err, &dns):
		e.Retryable = !dns.IsNotFound
		e.Message = fmt.Sprintf("the host of %s cannot be resolved: check the base URL and the network (%s)", where, why)
	case errs.As(err, &certificate):
		e.Retryable = false
		e.Message = fmt.Sprintf("the certificate of %s cannot be verified (%s)", where, why)
	default:
		e.Message = fmt.Sprintf("no answer from %s or a proxy (%s)", where, why)
	}
	return e
}

// RequestID returns the provider's id of the request, from the headers of its response.
func RequestID(h http.Header) string {
	return cmp.Or(h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("X-Generation-Id"), h.Get("Cf-Ray"))
}

// RetryAfter reads how long an answer asks to wait: Retry-After-Ms in milliseconds, or Retry-After
// as seconds or as a date (RFC 9110, section 10.2.3). It returns 0 if the answer does not ask, or
// asks for nonsense.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(seconds, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// duration returns n units, or 0 if that is not a usable duration.
func duration(n float64, unit time.Duration) time.Duration {
	const longest = 365 * 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n > float64(longest/unit) {
		return longest
	}
	return time.Duration(n * float64(unit))
}
