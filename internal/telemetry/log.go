package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Keys of a log line.
const (
	LogKeyMessage = "message"
	LogKeyLevel   = "level"
	LogKeyTime    = "time"
	LogKeyLogger  = "logger"
	LogKeyCaller  = "caller"
	LogKeyCommit  = "commit"
	LogKeyError   = "error"
)

// logTime is ISO 8601 with milliseconds.
const logTime = "2006-01-02T15:04:05.000Z0700"

// LogOptions are the options of NewLogger.
type LogOptions struct {
	// Level is debug, info or error; empty means info.
	Level string
	// Commit is added to every line if it is not empty.
	Commit string
	// Out receives one JSON object per log line.
	Out io.Writer
	// Clock is the clock for the limits on repeated lines. If it is nil, there are no limits. Of the lines with the same level
	// and message, the first hundred in a second are written, then every hundredth. Of the error lines with the same cause, one
	// per minute is written.
	Clock clock.PassiveClock
	// Panics counts recovered panics. Nil counts none.
	Panics *Panics
}

// NewLogger returns a logger that writes JSON. It returns an error if the level does not exist.
func NewLogger(o LogOptions) (logr.Logger, error) {
	level, err := logLevel(o.Level)
	if err != nil {
		return logr.Logger{}, err
	}
	var h slog.Handler = slog.NewJSONHandler(o.Out, &slog.HandlerOptions{
		Level: level, AddSource: level < slog.LevelInfo, ReplaceAttr: renameLogKeys,
	})
	if o.Commit != "" {
		h = h.WithAttrs([]slog.Attr{slog.String(LogKeyCommit, o.Commit)})
	}
	h = quiet{h}
	if o.Clock != nil {
		h = &sampled{Handler: h, counts: newLineCounts(o.Clock)}
		h = &byCause{Handler: h, causes: &causes{clock: o.Clock, seen: map[string]*seenCause{}}}
	}
	if o.Panics != nil {
		h = &countsPanics{Handler: h, panics: o.Panics}
	}
	return logr.FromSlogHandler(h), nil
}

// logLevel returns the lowest level that is written. For debug that is logr's V(1). The many lines that libraries log at V(2) and
// above are not useful.
func logLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelInfo - 1, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q is not debug, info or error", name)
}

// renameLogKeys replaces slog's keys by the keys of upstream Karpenter's log lines, which users' log pipelines depend
// on.
func renameLogKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = LogKeyMessage
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			a.Value = slog.StringValue(a.Value.Time().Format(logTime))
		}
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			a.Value = slog.StringValue(levelName(level))
		}
	case slog.SourceKey:
		if source, ok := a.Value.Any().(*slog.Source); ok {
			file := filepath.Join(filepath.Base(filepath.Dir(source.File)), filepath.Base(source.File))
			a = slog.String(LogKeyCaller, fmt.Sprintf("%s:%d", file, source.Line))
		}
	case "logger":
		// logr joins the names of loggers by slashes; in log lines they are joined by dots.
		a.Value = slog.StringValue(strings.ReplaceAll(a.Value.String(), "/", "."))
	case "err":
		a.Key = LogKeyError
	}
	return a
}

// levelName returns the name of a level in upper case: DEBUG, INFO, WARN or ERROR.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARN"
	}
	return "ERROR"
}
