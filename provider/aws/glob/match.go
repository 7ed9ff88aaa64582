// Package glob matches names against patterns in which * stands for any characters, also none, and ? for exactly one
// byte.
package glob

// Match reports whether the pattern matches all of text.
func Match(pattern, text string) bool {
	// On a mismatch, the last star is extended by one character and matching continues from there.
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
