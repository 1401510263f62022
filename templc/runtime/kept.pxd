# The types of kept.py, for a compiler: what is not told here may be anything.


cdef class Kept:
    cdef public object codec
    cdef public object known
    cdef public object owner
    cdef public object stamp
    cdef public bint bare
    cdef public object free

    cpdef bint fits(self, object tokenizer) except -1
