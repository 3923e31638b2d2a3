package rpc

// LogLevel is the severity of a message to the client: the levels of RFC 5424,
// section 6.2.1, as MCP names them.
type LogLevel uint8

// The levels, least severe first. LogOff is what a caller wants that asked for
// no messages.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
	LogOff
)

var levelNames = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String is the level's name in MCP; of LogOff it is "".
func (l LogLevel) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return ""
}

// parseLevel finds a level by its name in MCP.
func parseLevel(name []byte) (LogLevel, bool) {
	for i, n := range levelNames {
		if string(name) == n {
			return LogLevel(i), true
		}
	}
	return LogOff, false
}
