package disruption

import "time"

// Rates are bounds a minute; 0 for none.
type Rates struct {
	Disruptions, Launches int
}

// left returns how many more the bound allows in the minute that ends now, -1 if none; 0 stands for no bound. It forgets
// what is older.
func (Rates) left(bound int, done *[]time.Time, now time.Time) int {
	list := *done
	for len(list) > 0 && now.Sub(list[0]) >= time.Minute {
		list = list[1:]
	}
	*done = list
	switch {
	case bound <= 0:
		return 0
	case len(list) >= bound:
		return -1
	}
	return bound - len(list)
}
