package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/karpenter-go/karpenter/engine/units"
)

// A Style defines how text is highlighted. The zero Style highlights nothing.
type Style struct {
	// Colour uses ANSI colours.
	Colour bool
}

func (s Style) paint(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) bold(text string) string   { return s.paint("1", text) }
func (s Style) dim(text string) string    { return s.paint("2", text) }
func (s Style) green(text string) string  { return s.paint("32", text) }
func (s Style) yellow(text string) string { return s.paint("33", text) }
func (s Style) red(text string) string    { return s.paint("31", text) }

// barWidth is the number of cells of a bar.
const barWidth = 10

// bar returns a bar of ten cells for the used share, with the percentage. One cell may be filled in part. It returns "" if
// have is not positive.
func (s Style) bar(used, have int64) string {
	if have <= 0 {
		return ""
	}
	part := min(float64(used)/float64(have), 1)
	eighths := int(part*barWidth*8 + 0.5)
	var b strings.Builder
	for range eighths / 8 {
		b.WriteRune('█')
	}
	if rest := eighths % 8; rest > 0 {
		b.WriteRune([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	for n := utf8.RuneCountInString(b.String()); n < barWidth; n++ {
		b.WriteRune('░')
	}
	text := b.String()
	switch {
	case part >= 0.75:
		text = s.green(text)
	case part >= 0.4:
		text = s.yellow(text)
	default:
		text = s.red(text)
	}
	return fmt.Sprintf("%s %3.0f%%", text, part*100)
}

// A table aligns columns. Cells may contain colour codes.
type table struct {
	rows [][]string
	// right are the columns that are aligned to the right.
	right map[int]bool
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write renders the table with indent before each row, and head applied to the first one.
func (t *table) write(b *strings.Builder, indent string, head func(string) string) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	for n, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString("  ")
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = head(text)
		}
		b.WriteString(indent + text + "\n")
	}
}

// width returns the number of cells of the text on a terminal: its runes without colour codes.
func width(text string) int {
	n, escaped := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escaped = true
		case escaped:
			escaped = r != 'm'
		default:
			n++
		}
	}
	return n
}

// dollars formats a price: with four decimals below 100 dollars, otherwise with two. Sums whose cents are not exact have an
// exponent.
func dollars(v float64) string {
	if v < 100 && v > -100 {
		return fmt.Sprintf("%.4f", v)
	}
	if !(math.Abs(v) < exactDollars) {
		return fmt.Sprintf("%.3g", v)
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	cents := int(math.Round(100 * math.Abs(v)))
	return fmt.Sprintf("%s%s.%02d", sign, units.Grouped(cents/100), cents%100)
}

// wholeDollars formats a sum without cents.
func wholeDollars(v float64) string {
	if !(math.Abs(v) < exactDollars) {
		return fmt.Sprintf("%.3g", v)
	}
	return units.Grouped(int(math.Round(v)))
}

// exactDollars is the smallest sum of which a floating-point number does not have all cents.
const exactDollars = (1 << 53) / 100
