package top

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A Source returns the current Data. It is called again after the time wait.
type Source func() (d Data, wait time.Duration, err error)

// A Model is the terminal program of the view. It draws only the rows that are visible.
type Model struct {
	source Source
	pages  []page

	data          Data
	err           error
	loaded        bool
	width, height int
	page          int
	views         []view // state of each page
	search        string
	typing        bool // keys are added to search
	paused        bool
	help          bool
	fetching      bool
}

// A view is the state of one page.
type view struct {
	sort     int
	reverse  bool
	selected string // key of the selected row
	offset   int    // first visible row
	rows     []row  // sorted and filtered
}

// New returns the program for a source.
func New(source Source) *Model {
	m := &Model{source: source, pages: pages(), width: 80, height: 24}
	m.views = make([]view, len(m.pages))
	return m
}

// fetched is the message that the Source has returned.
type fetched struct {
	data Data
	wait time.Duration
	err  error
}

// due is the message that the Source is to be called.
type due struct{}

// Init begins to fetch.
func (m *Model) Init() tea.Cmd { return m.fetch() }

func (m *Model) fetch() tea.Cmd {
	if m.fetching {
		return nil
	}
	m.fetching = true
	return func() tea.Msg {
		d, wait, err := m.source()
		return fetched{d, wait, err}
	}
}

// Update handles a message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case fetched:
		m.fetching = false
		m.err = msg.err
		if msg.err == nil && !m.paused {
			m.data, m.loaded = msg.data, true
			m.arrange()
		}
		return m, tea.Tick(msg.wait, func(time.Time) tea.Msg { return due{} })
	case due:
		if m.paused {
			return m, tea.Tick(time.Second, func(time.Time) tea.Msg { return due{} })
		}
		return m, m.fetch()
	case tea.KeyPressMsg:
		return m, m.press(msg.String())
	}
	return m, nil
}

// press handles a key.
func (m *Model) press(key string) tea.Cmd {
	if key == "ctrl+c" {
		return tea.Quit
	}
	if m.typing {
		m.edit(key)
		return nil
	}
	v := &m.views[m.page]
	switch key {
	case "q":
		return tea.Quit
	case "tab", "right", "l":
		m.show(m.page + 1)
	case "shift+tab", "left", "h":
		m.show(m.page + len(m.pages) - 1)
	case "1", "2", "3", "4":
		m.show(int(key[0] - '1'))
	case "down", "j":
		m.move(1)
	case "up", "k":
		m.move(-1)
	case "pgdown", "ctrl+f":
		m.move(m.visible())
	case "pgup", "ctrl+b":
		m.move(-m.visible())
	case "home", "g":
		m.move(-len(v.rows))
	case "end", "G", "shift+g":
		m.move(len(v.rows))
	case "s":
		m.sortBy(m.nextColumn(v.sort))
	case "r":
		v.reverse = !v.reverse
		m.arrange()
	case "p", "space", " ":
		m.paused = !m.paused
	case "/":
		m.typing = true
	case "esc":
		m.search = ""
		m.arrange()
	case "?":
		m.help = !m.help
	}
	return nil
}

// edit changes the search text by a key.
func (m *Model) edit(key string) {
	switch {
	case key == "enter":
		m.typing = false
	case key == "esc":
		m.typing, m.search = false, ""
	case key == "backspace":
		if r := []rune(m.search); len(r) > 0 {
			m.search = string(r[:len(r)-1])
		}
	case key == "space":
		m.search += " "
	case len([]rune(key)) == 1:
		m.search += key
	}
	m.arrange()
}

// show switches to a page.
func (m *Model) show(page int) {
	m.page = page % len(m.pages)
	m.arrange()
}

// nextColumn returns the next visible column after the given one, continuing with the first after the last.
func (m *Model) nextColumn(column int) int {
	columns := m.pages[m.page].columns
	for range columns {
		column = (column + 1) % len(columns)
		if columns[column].from <= m.width {
			return column
		}
	}
	return 0
}

func (m *Model) sortBy(column int) {
	m.views[m.page].sort = column
	m.arrange()
}

// arrange computes the rows of the current page.
func (m *Model) arrange() {
	v := &m.views[m.page]
	v.rows = m.pages[m.page].rows(m.data)
	if m.search != "" {
		lower := strings.ToLower(m.search)
		v.rows = slices.DeleteFunc(v.rows, func(r row) bool { return !r.matches(lower) })
	}
	slices.SortStableFunc(v.rows, func(a, b row) int {
		if v.reverse {
			a, b = b, a
		}
		return less(a, b, v.sort)
	})
	m.move(0)
}

// index returns the index of the selected row. It is 0 if no row has the selected key.
func (v *view) index() int {
	return max(0, slices.IndexFunc(v.rows, func(r row) bool { return r.key == v.selected }))
}

// move moves the selection by n rows and keeps it visible.
func (m *Model) move(n int) {
	v := &m.views[m.page]
	if len(v.rows) == 0 {
		v.offset = 0
		return
	}
	at := min(max(v.index()+n, 0), len(v.rows)-1)
	v.selected = v.rows[at].key
	size := max(m.visible(), 1)
	v.offset = min(max(v.offset, at-size+1), at)
	v.offset = max(0, min(v.offset, len(v.rows)-size))
}
