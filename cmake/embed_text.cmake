# cmake -DTEXT=FILE -DNAME=NAME -DTO=FILE.c -P embed_text.cmake: the text of a file as a C string, `const char NAME[]`.
file(READ "${TEXT}" text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "??" "?\\?" text "${text}") # no trigraphs
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${TO}" "extern const char ${NAME}[];\nconst char ${NAME}[] =\n    \"${text}\";\n")
