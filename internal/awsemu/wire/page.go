package wire

import (
	"encoding/base64"
	"sort"
	"strings"
)

// tokenPrefix is the prefix of the decoded tokens by which clients request the next page.
const tokenPrefix = "after:"

// A Page is the requested page: at most Max items (0 for all) after the token.
type Page struct {
	Max   int
	Token string
}

// PageOf reads MaxResults and NextToken. It returns an error if MaxResults is less than low or greater than high.
func PageOf(f Form, low, high int) (Page, *Error) {
	p := Page{Max: f.Int("MaxResults"), Token: f.String("NextToken")}
	if f.Has("MaxResults") && (p.Max < low || p.Max > high) {
		return p, Errorf("InvalidParameterValue",
			"Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", p.Max, low, high)
	}
	return p, nil
}

// Cut returns one page of items, which must be sorted by key, and the token of the next page, empty for the last page. A token
// contains the last returned key. So no item is omitted when items are created or deleted between two pages.
func Cut[T any](items []T, key func(T) string, page Page) (out []T, next string, failure *Error) {
	if page.Token != "" {
		raw, err := base64.RawURLEncoding.DecodeString(page.Token)
		after, ok := strings.CutPrefix(string(raw), tokenPrefix)
		if err != nil || !ok {
			return nil, "", Errorf("InvalidPaginationToken", "The specified pagination token is not valid.")
		}
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i]) > after }):]
	}
	if page.Max <= 0 || len(items) <= page.Max {
		return items, "", nil
	}
	items = items[:page.Max]
	last := tokenPrefix + key(items[len(items)-1])
	return items, base64.RawURLEncoding.EncodeToString([]byte(last)), nil
}
