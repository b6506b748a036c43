package netns

func (s *session) certify() {}
