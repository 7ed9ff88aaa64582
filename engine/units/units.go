// Package units prints amounts of resources, numbers and durations as people write them: 1.107 cpu, 7.3Gi memory, 15m.
package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Rounding is how an amount that is printed with few digits is rounded.
type Rounding int8

// The roundings. Amounts that must suffice are rounded up, amounts that must not be exceeded are rounded down.
const (
	Nearest Rounding = iota
	Up
	Down
)

// Amount prints the amount v of the resource as people write it, without the name: 1.107 for cpu, 7.3Gi for memory,
// 1,300 for others. Sizes in bytes have the largest binary suffix that is not above the amount and at most one decimal.
// r rounds their absolute value. Other amounts are exact.
func Amount(name corev1.ResourceName, v int64, r Rounding) string {
	switch {
	case name == corev1.ResourceCPU:
		sign, v := signed(v)
		text := sign + Grouped(v/1000)
		if milli := v % 1000; milli != 0 {
			text += strings.TrimRight(fmt.Sprintf(".%03d", milli), "0")
		}
		return text
	case isSize(name):
		return size(v, r)
	}
	return Grouped(v)
}

// Measure is Amount with the name of the resource: 1.107 cpu, 7.3Gi memory.
func Measure(name corev1.ResourceName, v int64, r Rounding) string {
	return Amount(name, v, r) + " " + string(name)
}

// isSize reports whether the resource is counted in bytes.
func isSize(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// size prints bytes.
func size(v int64, r Rounding) string {
	sign, v := signed(v)
	units, unit, base := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}, 0, int64(1)
	for v >= base*1024 && unit < len(units)-1 {
		base, unit = base*1024, unit+1
	}
	whole, rest := v/base, v%base
	tenths := rest * 10 / base
	if left := rest * 10 % base; r == Up && left > 0 || r == Nearest && left*2 >= base {
		tenths++
	}
	if tenths == 10 {
		whole, tenths = whole+1, 0
	}
	if whole == 1024 && unit < len(units)-1 {
		whole, unit = 1, unit+1
	}
	text := sign + Grouped(whole)
	if tenths > 0 {
		text += fmt.Sprintf(".%d", tenths)
	}
	return text + units[unit]
}

func signed(v int64) (sign string, absolute int64) {
	if v < 0 {
		return "-", -v
	}
	return "", v
}

// Grouped prints n with a comma between groups of three digits: 1,300.
func Grouped[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Period prints a duration without units of zero at its end: 15m, 1h30m, 24h.
func Period(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Counted prints n things: 1 pod, 1,300 pods.
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Grouped(n) + " " + thing + "s"
}
