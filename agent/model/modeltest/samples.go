// SPDX-License-Identifier: Apache-2.0

package modeltest

import "strings"

// samples are texts that keep the validator's rules about strings.
var samples = []string{
	"", "a", "A", "ab", "Ab1", "é", "中文", "1", "12", "true", "on", "{}", " ",
	"2026-01-02T15:04:05Z", "UTC", "Europe/Berlin", "EUR", "978", "DE", "DEU", "276", "DE-BE", "US", "USA", "840", "en-US", "10115",
	"1.2.3", "10.0.0.0/8", "10.0.0.1", "2001:db8::/32", "2001:db8::1", "10.0.0.1:80", "[2001:db8::1]:80", "localhost:80", "80",
	"example.com", "example", "www.example.com", "https://example.com", "https://example.com/a.png", "https://example.com/a?b=c#d", "urn:isbn:0451450523", "user@example.com",
	"00:00:5e:00:53:01", "/tmp/a.sock", "C:/a", "/tmp", ".", "a/b", "a%20b", "&lt;a&gt;", "<p>a</p>", "data:text/plain;base64,aGVsbG8=",
	"aGVsbG8=", "aGVsbG8", "NBSWY3DP", "6869", "0x6869", "aa==",
	"f47ac10b-58cc-0372-8567-0e02b2c3d479", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-31d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
	"6ba7b810-9dad-51d1-80b4-00c04fd430c8", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "507f1f77bcf86cd799439011", "CVE-2024-12345",
	"#ffffff", "#fff", "rgb(1,2,3)", "rgba(1,2,3,0.5)", "hsl(1,2%,3%)", "hsla(1,2%,3%,0.5)", "52.5", "13.4", "+4930123456",
	"4242424242424242", "79927398713", "123-45-6789", "12-3456789", "0306406152", "9780306406157", "2049-3630", "DEUTDEFF", "DEUTDEFFXXX",
	"0 0 * * *", "eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "{{.A}}", "mongodb://localhost:27017/a", "rsa", "HS256",
	"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xde709f2102306220921060314715629080e2fb77",
	strings.Repeat("a", 32), strings.Repeat("a", 40), strings.Repeat("a", 48), strings.Repeat("a", 64), strings.Repeat("a", 96), strings.Repeat("a", 128), "a" + strings.Repeat("0", 63),
}
