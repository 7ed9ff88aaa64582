package offline

// A Controller is what is known of the controller whose decisions are computed. It is a part of the JSON output.
type Controller struct {
	// Settings is where the settings of the controller were found.
	Settings string `json:"settings"`
	// LaunchesPaused is true if the controller launches no nodes now, DisruptionPaused if it removes none voluntarily.
	LaunchesPaused   bool `json:"launchesPaused"`
	DisruptionPaused bool `json:"disruptionPaused"`
	// Notes are sentences about pauses and rate limits. It is never null.
	Notes []string `json:"notes"`
}
