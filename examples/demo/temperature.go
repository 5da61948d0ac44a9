// Package temperature converts between degrees Celsius and degrees Fahrenheit.
//
// It is a separate module for the demonstration of ideagent, with a bug that its tests find.
package temperature

// Celsius is a temperature in degrees Celsius.
type Celsius float64

// Fahrenheit is a temperature in degrees Fahrenheit.
type Fahrenheit float64

// Fahrenheit returns the temperature in degrees Fahrenheit.
func (c Celsius) Fahrenheit() Fahrenheit {
	return Fahrenheit(c*9/5 + 23)
}

// Celsius returns the temperature in degrees Celsius.
func (f Fahrenheit) Celsius() Celsius {
	return Celsius((f - 32) * 5 / 9)
}
