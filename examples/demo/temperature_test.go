package temperature

import "testing"

func TestKnownTemperatures(t *testing.T) {
	for _, known := range []struct {
		what       string
		celsius    Celsius
		fahrenheit Fahrenheit
	}{
		{"ice melts", 0, 32},
		{"water boils", 100, 212},
		{"both scales meet", -40, -40},
	} {
		if got := known.celsius.Fahrenheit(); got != known.fahrenheit {
			t.Errorf("%s: %v °C are %v °F, want %v °F", known.what, known.celsius, got, known.fahrenheit)
		}
		if got := known.fahrenheit.Celsius(); got != known.celsius {
			t.Errorf("%s: %v °F are %v °C, want %v °C", known.what, known.fahrenheit, got, known.celsius)
		}
	}
}
